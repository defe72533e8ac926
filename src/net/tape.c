/* tape.c - the recording of HTTP exchanges and names into a file, and its replay (tape.h). */
#include "net/tape.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAPE_VERSION = 1, TAPE_MAX = NET_TAKE_MAX, TAPE_EXCHANGES_MAX = 100000 };

struct net_tape {
  int fd; /* to record to; -1: it replays */
  yyjson_mut_doc *doc;
  yyjson_mut_val *names, *exchanges; /* of doc */
  yyjson_doc *read;                  /* the tape that is replayed */
  bool *used;                        /* of its exchanges */
  size_t len;
};

bool net_tape_records(const net_tape *t) { return t != NULL && t->fd >= 0; }
bool net_tape_replays(const net_tape *t) { return t != NULL && t->fd < 0; }

/* ---- recording ---- */

bool net_tape_put(net_tape *t, const net_secrets *s, net_take *take) {
  size_t len = net_take_len(take);
  if (t->len + len > TAPE_MAX || yyjson_mut_arr_size(t->exchanges) >= TAPE_EXCHANGES_MAX) return false;
  t->len += len;
  bool fine = yyjson_mut_arr_append(t->exchanges, net_take_write(t->doc, s, take));
  net_take_free(take);
  return fine;
}

void net_tape_put_name(net_tape *t, const char *host, const net_addrs *addrs) {
  if (!net_tape_records(t) || yyjson_mut_obj_get(t->names, host) != NULL) return;
  yyjson_mut_val *list = yyjson_mut_arr(t->doc);
  for (size_t i = 0; i < addrs->count; i++) {
    char text[NET_ADDR_TEXT];
    net_addr_format(&addrs->list[i], text);
    (void)yyjson_mut_arr_add_strcpy(t->doc, list, text); /* a name that is missing shows at replay */
  }
  (void)yyjson_mut_obj_add(t->names, yyjson_mut_strcpy(t->doc, host), list);
}

cay_status net_tape_save(net_tape *t, cay_error *err) {
  if (!net_tape_records(t)) return CAY_OK;
  size_t len = 0;
  char *text = yyjson_mut_write_opts(t->doc, YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_NEWLINE_AT_END,
                                     &JSON_ALLOC, &len, NULL);
  if (text == NULL) return err_no_memory(err);
  size_t done = 0;
  while (done < len) {
    ssize_t n = write(t->fd, text + done, len - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += (size_t)n;
  }
  int why = errno;
  mem_free(text);
  return done == len ? CAY_OK : err_errno(err, why, "the tape");
}

cay_status net_tape_record(const char *path, net_tape **out, cay_error *err) {
  OWNED(net_tape_free) net_tape *t = mem_zalloc(sizeof *t);
  if (t == NULL) return err_no_memory(err);
  t->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
  if (t->fd < 0) return err_errno(err, errno, "%.200s", path);
  t->doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *root = yyjson_mut_obj(t->doc);
  yyjson_mut_doc_set_root(t->doc, root);
  bool fine = root != NULL && yyjson_mut_obj_add_int(t->doc, root, "cay-tape", TAPE_VERSION);
  t->names = yyjson_mut_obj_add_obj(t->doc, root, "names");
  t->exchanges = yyjson_mut_obj_add_arr(t->doc, root, "exchanges");
  if (!fine || t->names == NULL || t->exchanges == NULL) return err_no_memory(err);
  *out = MOVE(t);
  return CAY_OK;
}

/* ---- replaying ---- */

static cay_status tape_check(net_tape *t, const char *path, cay_error *err) {
  yyjson_val *root = yyjson_doc_get_root(t->read), *list = yyjson_obj_get(root, "exchanges"), *one;
  size_t i, max;
  if (yyjson_get_int(yyjson_obj_get(root, "cay-tape")) != TAPE_VERSION || !yyjson_is_arr(list) ||
      !yyjson_is_obj(yyjson_obj_get(root, "names")) || yyjson_arr_size(list) > TAPE_EXCHANGES_MAX)
    return err_set(err, CAY_INVALID, "%.200s is no tape of version %d", path, TAPE_VERSION);
  yyjson_arr_foreach(list, i, max, one) {
    if (!net_take_is_whole(one))
      return err_set(err, CAY_INVALID, "%.200s: exchanges[%zu] is not whole", path, i);
  }
  t->used = mem_zalloc_array(yyjson_arr_size(list) + 1, sizeof *t->used);
  return t->used != NULL ? CAY_OK : err_no_memory(err);
}

cay_status net_tape_replay(const char *path, net_tape **out, cay_error *err) {
  OWNED(net_tape_free) net_tape *t = mem_zalloc(sizeof *t);
  yyjson_read_err why;
  struct stat st;
  if (t == NULL) return err_no_memory(err);
  t->fd = -1;
  if (stat(path, &st) != 0) return err_errno(err, errno, "%.200s", path);
  if (!S_ISREG(st.st_mode) || st.st_size > 2 * (off_t)TAPE_MAX)
    return err_set(err, CAY_INVALID, "%.200s is no tape: it is no file, or too long", path);
  t->read = yyjson_read_file(path, 0, &JSON_ALLOC, &why);
  if (t->read == NULL)
    return err_set(err, CAY_INVALID, "%.200s is no tape: %s at byte %zu", path, why.msg, why.pos);
  S_TRY(tape_check(t, path, err));
  *out = MOVE(t);
  return CAY_OK;
}

void net_tape_free(net_tape *t) {
  if (t == NULL) return;
  if (t->fd >= 0) (void)close(t->fd);
  yyjson_mut_doc_free(t->doc);
  yyjson_doc_free(t->read);
  mem_free(t->used);
  mem_free(t);
}

bool net_tape_name(const net_tape *t, const char *host, net_addrs *out) {
  yyjson_val *list = yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(t->read), "names"), host), *one;
  size_t i, max;
  *out = (net_addrs){ 0 };
  yyjson_arr_foreach(list, i, max, one) {
    const char *text = yyjson_get_str(one);
    if (text == NULL || out->count == NET_ADDRS_MAX || !net_addr_parse(text, &out->list[out->count]))
      return false;
    out->count++;
  }
  return out->count > 0;
}

bool net_tape_find(net_tape *t, const net_secrets *s, net_take *take) {
  yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(t->read), "exchanges"), *one;
  size_t i, max;
  yyjson_arr_foreach(list, i, max, one) {
    if (t->used[i] || !net_take_is_of(s, one, take)) continue;
    t->used[i] = true;
    return net_take_read_answer(s, one, take);
  }
  return false;
}
