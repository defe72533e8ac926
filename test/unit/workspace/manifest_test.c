#include "workspace/manifest.h"

#include "test.h"

static cay_ws_error err;

static cay_ws_document *parse(const char *json) {
  cay_ws_document *d = NULL;
  memset(&err, 0, sizeof err);
  (void)!cay_ws_manifest_parse((cay_slice){ json, strlen(json) }, &d, &err);
  return d;
}

static const char *refusal(const char *json) {
  cay_ws_document *d = parse(json);
  EXPECT(d == NULL);
  return err.cause.message;
}

TEST(a_manifest_is_read_from_json) {
  cay_ws_document *d = parse(
      "{\"entries\":[{\"type\":\"file\",\"path\":\"a\",\"content\":\"text\",\"mode\":\"0755\"},"
      "{\"type\":\"file\",\"path\":\"b\",\"contentBase64\":\"AP8=\",\"mode\":384},"
      "{\"type\":\"file\",\"path\":\"c\",\"content\":[102,110]},"
      "{\"type\":\"directory\",\"path\":\"src\"},"
      "{\"type\":\"git_repo\",\"url\":\"https://h/r\",\"branch\":null,\"path\":\"r\",\"depth\":1}],"
      "\"env\":{\"A\":\"1\",\"B\":\"\"},\"limits\":{\"memory\":1048576,\"timeoutMs\":5,\"cpuMs\":7,\"backgroundMs\":9},\"network\":{\"rules\":[]}}");
  EXPECT(d != NULL);
  const cay_ws_manifest *m = cay_ws_manifest_get(d);
  EXPECT_EQ(m->entry_count, 5);
  EXPECT_EQ(m->entries[0].mode, 0755);
  EXPECT_EQ(m->entries[0].content.len, 4);
  EXPECT_EQ(m->entries[1].mode, 0600);
  EXPECT_EQ(memcmp(m->entries[1].content.data, "\0\xff", 2), 0);
  EXPECT_EQ(memcmp(m->entries[2].content.data, "fn", 2), 0);
  EXPECT_EQ(m->entries[3].kind, CAY_WS_DIRECTORY);
  EXPECT_EQ(m->entries[4].depth, 1);
  EXPECT(m->entries[4].branch == NULL);
  EXPECT_TEXT(m->env[0], "A=1");
  EXPECT_TEXT(m->env[1], "B=");
  EXPECT(m->env[2] == NULL);
  EXPECT_EQ(m->limits->memory, 1048576);
  EXPECT_EQ(m->limits->wall_ms, 5);
  EXPECT_EQ(m->limits->cpu_ms, 7);
  EXPECT_EQ(m->limits->background_ms, 9);
  EXPECT_EQ(m->network.len, strlen("{\"rules\":[]}"));
  EXPECT_EQ(ws_manifest_check(m, NULL), CAY_OK);
  cay_ws_manifest_free(d);
}

TEST(refusals_name_the_place_in_the_document) {
  EXPECT_TEXT(refusal("[]"), "manifest: not an object");
  EXPECT_TEXT(refusal("{\"entrys\":[]}"), "entrys: no such member");
  EXPECT_TEXT(refusal("{\"entries\":1}"), "entries: not an array");
  EXPECT_TEXT(refusal("{\"entries\":[{\"type\":\"file\"}]}"), "entries[0].path: missing");
  EXPECT_TEXT(refusal("{\"entries\":[{\"type\":\"link\",\"path\":\"a\"}]}"),
              "entries[0].type: only file, directory and git_repo are known");
  EXPECT_TEXT(refusal("{\"entries\":[{\"type\":\"file\",\"path\":\"a\"}]}"),
              "entries[0].content: one of content and contentBase64 is needed");
  EXPECT_TEXT(refusal("{\"entries\":[{\"type\":\"file\",\"path\":\"a\",\"contentBase64\":\"A\"}]}"),
              "entries[0].contentBase64: not base64");
  EXPECT_TEXT(refusal("{\"entries\":[{\"type\":\"file\",\"path\":\"a\",\"content\":[256]}]}"),
              "entries[0].content: an array holds the bytes as numbers from 0 to 255");
  EXPECT_TEXT(refusal("{\"entries\":[{\"type\":\"directory\",\"path\":\"a\",\"mode\":1}]}"),
              "entries[0].mode: no such member");
  EXPECT_TEXT(refusal("{\"entries\":[{\"type\":\"directory\",\"path\":\"a\",\"path\":\"b\"}]}"),
              "entries[0].path: given twice");
  EXPECT_TEXT(refusal("{\"env\":{\"A=\":\"\"}}"), "env.A=: not a name with a text");
  EXPECT_TEXT(refusal("{\"limits\":{\"memory\":-1}}"), "limits.memory: not a whole number in its range");
  EXPECT_EQ(err.code, CAY_WS_INVALID_REQUEST);
  (void)refusal("{\"entries\":[{\"type\":\"directory\",\"path\":\"a\\u0000b\"}]}");
  EXPECT_EQ(err.code, CAY_WS_PATH_TRAVERSAL);
}

static cay_ws_code check(cay_ws_entry first, cay_ws_entry second) {
  cay_ws_entry entries[] = { first, second };
  cay_ws_manifest m = CAY_INIT(cay_ws_manifest, .entries = entries, .entry_count = 2);
  memset(&err, 0, sizeof err);
  return ws_manifest_check(&m, &err) == CAY_OK ? CAY_WS_OK : err.code;
}

#define ENTRY(...) CAY_INIT(cay_ws_entry, __VA_ARGS__)

TEST(path_traversal_comes_before_every_other_refusal) {
  EXPECT_EQ(check(ENTRY(.kind = CAY_WS_GIT_REPO, .path = "r", .url = "ssh://x"),
                  ENTRY(.kind = CAY_WS_DIRECTORY, .path = "../x")),
            CAY_WS_PATH_TRAVERSAL);
  EXPECT_TEXT(err.cause.message, "entry 1, ../x: ../x: it leads out of the workspace");
  EXPECT_TEXT(err.subject, "../x");
}

TEST(an_entry_that_can_never_work_fails_provisioning_by_its_path) {
  cay_ws_entry dir = ENTRY(.kind = CAY_WS_DIRECTORY, .path = "d");
  static const struct {
    const char *url, *branch, *commit;
  } bad[] = {
    { NULL, NULL, NULL },
    { "ssh://h/r", NULL, NULL },
    { "git@h:r", NULL, NULL },
    { "https://h/ r", NULL, NULL },
    { "https://h/r", "--upload-pack=x", NULL },
    { "https://h/r", "a..b", NULL },
    { "https://h/r", "", NULL },
    { "https://h/r", NULL, "abc" },
    { "file://host/r", NULL, NULL },
  };
  EXPECT_EQ(check(dir, ENTRY(.kind = CAY_WS_FILE, .path = ".")), CAY_WS_PROVISION_FAILED);
  EXPECT_EQ(check(dir, ENTRY(.kind = CAY_WS_FILE, .path = "f", .mode = 010000)), CAY_WS_PROVISION_FAILED);
  EXPECT_EQ(check(dir, ENTRY(.kind = (cay_ws_kind)9, .path = "f")), CAY_WS_PROVISION_FAILED);
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    EXPECT_EQ(check(dir, ENTRY(.kind = CAY_WS_GIT_REPO, .path = "repo", .url = bad[i].url,
                               .branch = bad[i].branch, .commit = bad[i].commit)),
              CAY_WS_PROVISION_FAILED);
    EXPECT_TEXT(err.subject, "repo");
  }
  EXPECT_EQ(check(dir, ENTRY(.kind = CAY_WS_GIT_REPO, .path = "repo", .url = "https://h/r", .branch = "v1.0",
                             .commit = "0123456789012345678901234567890123456789")),
            CAY_WS_OK);
}

TEST(a_manifest_without_memory_is_memory_exceeded_and_leaks_nothing) {
  static const char json[] =
      "{\"entries\":[{\"type\":\"file\",\"path\":\"a\",\"content\":[1]}],\"env\":{\"A\":\"1\"},"
      "\"network\":{}}";
  AT_EVERY_FAULT {
    cay_ws_document *d = NULL;
    cay_status status = cay_ws_manifest_parse(CAY_TEXT(json), &d, &err);
    if (status != CAY_OK) EXPECT_EQ(err.code, CAY_WS_MEMORY_EXCEEDED);
    cay_ws_manifest_free(d);
  }
}
