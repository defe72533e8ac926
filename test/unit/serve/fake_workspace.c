/* fake_workspace.c - the functions of <cay/workspace.h> that the server calls, without any workspace. test/unit/workspace has real
 * ones. */
#include <cay/workspace.h>

#include <stdlib.h>
#include <string.h>

struct cay_ws {
  int unused;
};

static cay_status fake_refuse(cay_ws_error *err) {
  *err = (cay_ws_error){ .code = CAY_WS_SESSION_NOT_FOUND,
                         .cause = { .status = CAY_NOT_FOUND, .message = "no session" } };
  return CAY_NOT_FOUND;
}

const char *cay_ws_code_name(cay_ws_code code) {
  return code == CAY_WS_SESSION_NOT_FOUND ? "SessionNotFound" : "other";
}
const char *cay_ws_state_name(cay_ws_state state) { return state == CAY_WS_RUNNING ? "running" : "other"; }

cay_status cay_ws_open(const cay_ws_options *options, cay_ws **out, cay_ws_error *err) {
  (void)options, (void)err;
  *out = calloc(1, sizeof **out);
  return *out != NULL ? CAY_OK : CAY_NO_MEMORY;
}
void cay_ws_close(cay_ws *ws) { free(ws); }
void cay_ws_stop_all(cay_ws *ws) { (void)ws; }

cay_status cay_ws_manifest_parse(cay_slice json, cay_ws_document **out, cay_ws_error *err) {
  (void)json, (void)out;
  return fake_refuse(err);
}
const cay_ws_manifest *cay_ws_manifest_get(const cay_ws_document *document) { return (void)document, NULL; }
void cay_ws_manifest_free(cay_ws_document *document) { (void)document; }
cay_status cay_ws_provision(cay_ws *ws, const cay_ws_manifest *manifest, char handle[CAY_WS_ID_MAX],
                            cay_ws_error *err) {
  (void)ws, (void)manifest, (void)handle;
  return fake_refuse(err);
}
cay_status cay_ws_start(cay_ws *ws, const char *handle, cay_ws_session **out, cay_ws_error *err) {
  (void)ws, (void)handle, (void)out;
  return fake_refuse(err);
}
void cay_ws_session_free(cay_ws_session *session) { (void)session; }
cay_status cay_ws_stop(cay_ws *ws, const char *handle, cay_ws_error *err) {
  return (void)ws, (void)handle, fake_refuse(err);
}
cay_status cay_ws_park(cay_ws *ws, const char *handle, cay_ws_error *err) {
  return (void)ws, (void)handle, fake_refuse(err);
}
cay_status cay_ws_snapshot(cay_ws *ws, const char *handle, char id[CAY_WS_ID_MAX], cay_ws_error *err) {
  return (void)ws, (void)handle, (void)id, fake_refuse(err);
}
cay_status cay_ws_resume(cay_ws *ws, const char *id, char handle[CAY_WS_ID_MAX], cay_ws_error *err) {
  return (void)ws, (void)id, (void)handle, fake_refuse(err);
}
cay_status cay_ws_exec(cay_ws_session *s, const cay_ws_exec_options *o, cay_ws_output **out,
                       cay_ws_error *err) {
  return (void)s, (void)o, (void)out, fake_refuse(err);
}
cay_status cay_ws_spawn(cay_ws_session *s, const cay_ws_exec_options *o, cay_ws_process **out,
                        cay_ws_error *err) {
  return (void)s, (void)o, (void)out, fake_refuse(err);
}
int32_t cay_ws_process_pid(const cay_ws_process *p) { return (void)p, 1; }
cay_status cay_ws_process_wait(cay_ws_process *p, int64_t timeout_ms, cay_ws_output **out,
                               cay_ws_error *err) {
  return (void)p, (void)timeout_ms, (void)out, fake_refuse(err);
}
cay_status cay_ws_process_write(cay_ws_process *p, cay_slice bytes, cay_ws_error *err) {
  return (void)p, (void)bytes, fake_refuse(err);
}
void cay_ws_process_close_input(cay_ws_process *p) { (void)p; }
void cay_ws_process_signal(cay_ws_process *p, int signal) { (void)p, (void)signal; }
void cay_ws_process_kill(cay_ws_process *p) { (void)p; }
void cay_ws_process_free(cay_ws_process *p) { (void)p; }
void cay_ws_output_free(cay_ws_output *output) { (void)output; }
cay_status cay_ws_read_file(cay_ws_session *s, const char *path, cay_buf *out, cay_ws_error *err) {
  return (void)s, (void)path, (void)out, fake_refuse(err);
}
cay_status cay_ws_write_file(cay_ws_session *s, const char *path, cay_slice content, uint32_t mode,
                             cay_ws_error *err) {
  return (void)s, (void)path, (void)content, (void)mode, fake_refuse(err);
}
cay_status cay_ws_list_dir(cay_ws_session *s, const char *path, cay_list_fn *each, void *ctx,
                           cay_ws_error *err) {
  return (void)s, (void)path, (void)each, (void)ctx, fake_refuse(err);
}
cay_status cay_ws_apply_patch(cay_ws_session *s, cay_slice patch, const cay_ws_patch_options *o,
                              cay_ws_error *err) {
  return (void)s, (void)patch, (void)o, fake_refuse(err);
}
cay_status cay_ws_sessions(cay_ws *ws, cay_ws_session_fn *each, void *ctx, cay_ws_error *err) {
  (void)ws, (void)err;
  (void)each(ctx, &(cay_ws_session_info){ "session-1", CAY_WS_RUNNING, 5000000 });
  return CAY_OK;
}
cay_status cay_ws_snapshots(cay_ws *ws, cay_ws_snapshot_fn *each, void *ctx, cay_ws_error *err) {
  (void)ws, (void)err;
  (void)each(ctx, &(cay_ws_snapshot_info){ "snap-1", "session-1", 5000000, 2, 3 });
  return CAY_OK;
}
cay_status cay_ws_snapshot_delete(cay_ws *ws, const char *id, cay_ws_error *err) {
  return (void)ws, (void)id, fake_refuse(err);
}
cay_status cay_ws_prune(cay_ws *ws, const cay_ws_retention *rules, size_t *removed, cay_ws_error *err) {
  (void)ws, (void)rules, (void)err;
  *removed = 1;
  return CAY_OK;
}
cay_status cay_ws_fsck(cay_ws *ws, bool repair, cay_ws_fsck_fn *each, void *ctx, size_t *out,
                       cay_ws_error *err) {
  (void)ws, (void)repair, (void)err;
  each(ctx, "a problem");
  *out = 1;
  return CAY_OK;
}
