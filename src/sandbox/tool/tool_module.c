/* tool_module.c - from the name of a tool to its compiled module, read again when the file has changed. */
#include "base/alloc.h"
#include "base/error.h"
#include "sandbox/tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

cay_status sb_tool_path(const cay_tools *tools, const tool_settings *settings, buf *out, cay_error *err) {
  cay_status status = CAY_OK;
  if (settings->module == NULL || settings->module[0] != '/')
    status = buf_appendf(out, "%s/", tools->base_dir);
  if (status != CAY_OK) return err_no_memory(err);
  return tool_module_path(settings, out, err);
}

/* ---- the file ---- */

static cay_status read_fd(int fd, size_t max, buf *out, cay_error *err) {
  for (;;) {
    void *room = buf_room(out, 65536);
    if (room == NULL) return out->len + 65536 > max ? CAY_LIMIT : err_no_memory(err);
    ssize_t n = read(fd, room, 65536);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return err_errno(err, errno, "cannot be read");
    if (n == 0) return CAY_OK;
    buf_grew(out, (size_t)n);
  }
}

/* Its bytes, or the refusal in tool->end. */
static cay_status tool_module_read_file(const cay_tools *tools, sb_tool *tool, const char *path, buf *out,
                                        cay_error *err) {
  size_t max = tools->o.module_max != 0 ? (size_t)tools->o.module_max : TOOL_MODULE_MAX;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat(fd, &tool->file) != 0 || !S_ISREG(tool->file.st_mode)) {
    tool_end_set(&tool->end, TOOL_NOT_FOUND, "%.120s: %s", path,
                 fd < 0 ? strerrordesc_np(errno) : "not a regular file");
    if (fd >= 0) (void)close(fd);
    return CAY_OK;
  }
  if ((uint64_t)tool->file.st_size > max) {
    tool_end_set(&tool->end, TOOL_TOO_LARGE, "%lld bytes; a module may have %zu",
                 (long long)tool->file.st_size, max);
    (void)close(fd);
    return CAY_OK;
  }
  out->max = max + 2 * 65536; /* it may grow meanwhile: tool_check measures the bytes read */
  cay_status status = read_fd(fd, out->max, out, err);
  (void)close(fd);
  if (status == CAY_LIMIT) {
    tool_end_set(&tool->end, TOOL_TOO_LARGE, "a module may have %zu bytes", max);
    return CAY_OK;
  }
  return status == CAY_OK ? status : err_prefix(err, status, "%.120s", path);
}

static cay_status tool_module_load(const cay_tools *tools, sb_tool *tool, const char *path, cay_error *err) {
  tool->path = mem_strdup(path);
  if (tool->path == NULL) return err_no_memory(err);
  buf bytes = BUF_INIT(BUF_UNLIMITED);
  cay_status status = tool_module_read_file(tools, tool, path, &bytes, err);
  tool_check_options options = { .entrypoint = tool->settings.entrypoint,
                                 .size_max = (size_t)tools->o.module_max,
                                 .allow_placeholder = tools->o.allow_placeholders,
                                 .count_fuel = tool->settings.fuel != 0 };
  if (status == CAY_OK && tool->end.code == TOOL_OK)
    status = tool_check(tools->wasm, (cay_slice){ bytes.data, bytes.len }, &options, &tool->module,
                        &tool->end, err);
  buf_free(&bytes);
  return status;
}

/* ---- the table ---- */

static void tool_module_drop(sb_tool *tool) {
  eng_module_unref(tool->module);
  mem_free(tool->path);
  mem_free(tool);
}

void sb_tool_release(cay_tools *tools, sb_tool *tool) {
  pthread_mutex_lock(&tools->mu);
  bool last = --tool->refs == 0;
  pthread_mutex_unlock(&tools->mu);
  if (last) tool_module_drop(tool);
}

/* Its place, or that where it belongs. With tools.mu. */
static bool tool_module_find(const cay_tools *tools, const char *name, size_t *at) {
  size_t low = 0, high = tools->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(tools->list[middle]->name, name);
    if (order == 0) {
      *at = middle;
      return true;
    }
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  *at = low;
  return false;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
  return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
         a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static sb_tool *take_known(cay_tools *tools, const char *name) {
  size_t at;
  struct stat file;
  pthread_mutex_lock(&tools->mu);
  sb_tool *tool = tool_module_find(tools, name, &at) ? tools->list[at] : NULL;
  if (tool != NULL) tool->refs++;
  pthread_mutex_unlock(&tools->mu);
  if (tool == NULL || (stat(tool->path, &file) == 0 && is_same_file(&tool->file, &file))) return tool;
  sb_tool_release(tools, tool);
  return NULL;
}

/* Replaces the earlier module. When memory is out, nothing is kept and the next call loads it again. */
static void tool_module_keep(cay_tools *tools, sb_tool *tool) {
  size_t at;
  sb_tool *old = NULL;
  pthread_mutex_lock(&tools->mu);
  if (tool_module_find(tools, tool->name, &at)) {
    old = tools->list[at];
    tools->list[at] = tool;
    tool->refs++;
  } else {
    if (tools->count == tools->cap) {
      size_t cap = tools->cap != 0 ? 2 * tools->cap : 16;
      sb_tool **grown = mem_realloc_array((void *)tools->list, cap, sizeof(sb_tool *));
      if (grown != NULL) {
        tools->list = grown;
        tools->cap = cap;
      }
    }
    if (tools->count < tools->cap) {
      memmove((void *)(tools->list + at + 1), (void *)(tools->list + at),
              (tools->count - at) * sizeof(sb_tool *));
      tools->list[at] = tool;
      tools->count++;
      tool->refs++;
    }
  }
  pthread_mutex_unlock(&tools->mu);
  if (old != NULL) sb_tool_release(tools, old);
}

static cay_status load_new(cay_tools *tools, const char *name, const tool_settings *settings,
                           const char *path, sb_tool **out, cay_error *err) {
  sb_tool *tool = mem_zalloc(sizeof *tool);
  if (tool == NULL) return err_no_memory(err);
  tool->refs = 1;
  memcpy(tool->name, name, strlen(name) + 1);
  tool->settings = *settings;
  tool->settings.name = tool->name;
  cay_status status = tool_module_load(tools, tool, path, err);
  if (status != CAY_OK) {
    tool_module_drop(tool);
    return status;
  }
  if (tool->end.code != TOOL_NOT_FOUND) tool_module_keep(tools, tool);
  *out = tool;
  return CAY_OK;
}

cay_status sb_tool_take(cay_tools *tools, const char *name, sb_tool **out, cay_error *err) {
  tool_settings settings;
  sb_tool *known = take_known(tools, name);
  if (known != NULL) {
    *out = known;
    return CAY_OK;
  }
  (void)tool_config_find(tools->config, name, &settings);
  buf path = BUF_INIT(4096);
  cay_status status = sb_tool_path(tools, &settings, &path, err);
  if (status == CAY_OK) status = load_new(tools, name, &settings, buf_text(&path), out, err);
  buf_free(&path);
  return status;
}
