/* store_cache.c - code that has run once and can be run again by its name. */
#include "grpc/service/store.h"

#include "base/alloc.h"
#include "base/error.h"
#include "grpc/service/glob.h"
#include "grpc/service/name.h"
#include "grpc/service/sql.h"

#include <stdio.h>
#include <string.h>

enum { NAME_DIGITS = 6, NEAR_NAMES = 3, NEAR_LOOK = 500, NEAR_TEXT = 64 };

typedef struct cache_entry {
  const char *name, *description, *hash;
  int64_t created_ms;
} cache_entry;

static void put_entry(const cache_entry *entry, pb_writer *w) {
  pb_put_text(w, 1, entry->name);
  pb_put_text(w, 2, entry->description);
  pb_put_int(w, 3, entry->created_ms);
  pb_put_text(w, 4, entry->hash);
}

/* ---- adding ---- */

static cay_status has_row(store *s, const char *query, const char *text, bool *has, cay_error *err) {
  sqlite3_stmt *of;
  S_TRY(sql_use(s, query, &of, err));
  sql_bind_text(of, 1, text);
  cay_status status = sql_step(s, of, has, err);
  (void)sqlite3_reset(of);
  return status;
}

/* A name that is taken gets two more digits, until it is free: digests differ. */
static cay_status free_name(store *s, const code_name *name, const digest *of, char out[static NAME_MAX_LEN],
                            cay_error *err) {
  static const char query[] = "SELECT 1 FROM cache WHERE name = ?1";
  bool taken = true;
  for (size_t digits = NAME_DIGITS; taken && digits <= DIGEST_HEX; digits += 2) {
    code_name_full(name, of, digits, s->suffix, out);
    S_TRY(has_row(s, query, out, &taken, err));
  }
  return CAY_OK;
}

static cay_status drop_oldest(store *s, cay_error *err) {
  static const char text[] =
      "DELETE FROM cache WHERE id <= (SELECT id FROM cache ORDER BY id DESC LIMIT 1 OFFSET ?1)";
  sqlite3_stmt *of;
  S_TRY(sql_use(s, text, &of, err));
  (void)sqlite3_bind_int64(of, 1, (int64_t)s->options.cache_max);
  return sql_run(s, of, err);
}

static cay_status store_cache_insert(store *s, const cache_entry *entry, cay_slice code, cay_error *err) {
  static const char text[] =
      "INSERT INTO cache (name, description, hash, code, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
  sqlite3_stmt *of;
  S_TRY(sql_use(s, text, &of, err));
  sql_bind_text(of, 1, entry->name);
  sql_bind_text(of, 2, entry->description);
  sql_bind_text(of, 3, entry->hash);
  sql_bind_bytes(of, 4, code);
  (void)sqlite3_bind_int64(of, 5, entry->created_ms);
  S_TRY(sql_run(s, of, err));
  return drop_oldest(s, err);
}

static cay_status cache_add(store *s, cay_slice code, buf *out, cay_error *err) {
  static const char by_hash[] = "SELECT 1 FROM cache WHERE hash = ?1";
  digest of = digest_of(code.data, code.len);
  char hash[DIGEST_HEX], full[NAME_MAX_LEN];
  digest_hex(&of, hash);
  bool there = false;
  S_TRY(has_row(s, by_hash, hash, &there, err));
  if (there) return CAY_OK;
  code_name name;
  code_name_of(code, &name);
  S_TRY(free_name(s, &name, &of, full, err));
  cache_entry entry = { .name = full, .description = name.text, .hash = hash, .created_ms = wall_ms() };
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  put_entry(&entry, &w);
  cay_status status = w.failed != CAY_OK ? err_no_memory(err) : store_cache_insert(s, &entry, code, err);
  if (status == CAY_OK)
    *out = w.out;
  else
    buf_free(&w.out);
  return status;
}

cay_status store_cache_add(store *s, cay_slice code, buf *entry, cay_error *err) {
  (void)pthread_mutex_lock(&s->mu);
  cay_status status = cache_add(s, code, entry, err);
  (void)pthread_mutex_unlock(&s->mu);
  return status;
}

/* ---- finding ---- */

static cay_status take_row(sqlite3_stmt *of, char **name, buf *code, cay_error *err) {
  cay_slice bytes = sql_bytes(of, 1);
  char *copy = mem_strdup((const char *)sqlite3_column_text(of, 0));
  if (copy == NULL || buf_append(code, bytes.data, bytes.len) != CAY_OK) {
    mem_free(copy);
    return err_no_memory(err);
  }
  *name = copy;
  return CAY_OK;
}

static cay_status find_exact(store *s, cay_slice wanted, char **name, buf *code, bool *found,
                             cay_error *err) {
  sqlite3_stmt *of;
  S_TRY(sql_use(s, "SELECT name, code FROM cache WHERE name = ?1", &of, err));
  (void)sqlite3_bind_text64(of, 1, wanted.data, wanted.len, SQLITE_STATIC, SQLITE_UTF8);
  S_TRY(sql_step(s, of, found, err));
  cay_status status = *found ? take_row(of, name, code, err) : CAY_OK;
  (void)sqlite3_reset(of);
  return status;
}

static cay_status find_part(store *s, cay_slice wanted, char **name, buf *code, bool *found, cay_error *err) {
  sqlite3_stmt *of;
  S_TRY(sql_use(s, "SELECT name, code FROM cache ORDER BY id DESC", &of, err));
  cay_status status = CAY_OK;
  *found = false;
  for (bool row = true; !*found;) {
    S_TRY(sql_step(s, of, &row, err));
    if (!row) return CAY_OK;
    cay_slice each = { sqlite3_column_text(of, 0), (size_t)sqlite3_column_bytes(of, 0) };
    *found = each.data != NULL && glob_has_part(wanted, each);
    if (*found) status = take_row(of, name, code, err);
  }
  (void)sqlite3_reset(of);
  return status;
}

/* ---- names that are near ---- */

typedef struct near_list {
  char names[NEAR_NAMES][NEAR_TEXT];
  size_t distance[NEAR_NAMES], count;
} near_list;

static size_t store_cache_least(size_t a, size_t b) { return a < b ? a : b; }

/* How many letters have to be put in, taken out or changed (Levenshtein), of the first NEAR_TEXT - 1 of each. */
static size_t edit_distance(cay_slice a, cay_slice b) {
  const uint8_t *x = a.data, *y = b.data;
  size_t xl = store_cache_least(a.len, NEAR_TEXT - 1), yl = store_cache_least(b.len, NEAR_TEXT - 1),
         row[NEAR_TEXT];
  for (size_t j = 0; j <= yl; j++) row[j] = j;
  for (size_t i = 1; i <= xl; i++) {
    size_t corner = row[0];
    row[0] = i;
    for (size_t j = 1; j <= yl; j++) {
      size_t changed = corner + ((x[i - 1] | 0x20) != (y[j - 1] | 0x20));
      corner = row[j];
      row[j] = store_cache_least(changed, store_cache_least(row[j], row[j - 1]) + 1);
    }
  }
  return row[yl];
}

/* The hash at the end of a name says nothing about its meaning. */
static cay_slice stem_of(cay_slice name) {
  const char *dash = memrchr(name.data, '-', name.len);
  return dash != NULL ? (cay_slice){ name.data, (size_t)(dash - (const char *)name.data) } : name;
}

/* A name that begins like the wanted one is near, however long it is. */
static size_t name_distance(cay_slice wanted, cay_slice name) {
  cay_slice front = { name.data, store_cache_least(name.len, wanted.len) };
  size_t begins = edit_distance(wanted, front) + (front.len < name.len);
  return store_cache_least(
      begins, store_cache_least(edit_distance(wanted, name), edit_distance(wanted, stem_of(name))));
}

static void near_offer(near_list *l, cay_slice wanted, cay_slice name) {
  size_t distance = name_distance(wanted, name), at = 0;
  while (at < l->count && l->distance[at] <= distance) at++;
  if (at == NEAR_NAMES) return;
  if (l->count < NEAR_NAMES) l->count++;
  for (size_t i = l->count - 1; i > at; i--) {
    memcpy(l->names[i], l->names[i - 1], NEAR_TEXT);
    l->distance[i] = l->distance[i - 1];
  }
  (void)snprintf(l->names[at], NEAR_TEXT, "%.*s", (int)name.len, (const char *)name.data);
  l->distance[at] = distance;
}

static cay_status not_found(store *s, cay_slice wanted, cay_error *err) {
  sqlite3_stmt *of;
  near_list near = { 0 };
  S_TRY(sql_use(s, "SELECT name FROM cache ORDER BY id DESC LIMIT ?1", &of, err));
  (void)sqlite3_bind_int64(of, 1, NEAR_LOOK);
  for (bool row = true;;) {
    S_TRY(sql_step(s, of, &row, err));
    if (!row) break;
    cay_slice name = { sqlite3_column_text(of, 0), (size_t)sqlite3_column_bytes(of, 0) };
    if (name.data != NULL) near_offer(&near, wanted, name);
  }
  char shown[48];
  (void)snprintf(shown, sizeof shown, "%.*s", (int)wanted.len, (const char *)wanted.data);
  if (near.count == 0)
    return err_set(err, CAY_NOT_FOUND, "nothing is cached as %s: the cache is empty", shown);
  return err_set(err, CAY_NOT_FOUND, "nothing is cached as %s; near it: %s%s%s%s%s", shown, near.names[0],
                 near.count > 1 ? ", " : "", near.names[1], near.count > 2 ? ", " : "", near.names[2]);
}

static cay_status cache_find(store *s, cay_slice wanted, char **name, buf *code, cay_error *err) {
  bool found = false;
  S_TRY(find_exact(s, wanted, name, code, &found, err));
  if (!found) S_TRY(find_part(s, wanted, name, code, &found, err));
  return found ? CAY_OK : not_found(s, wanted, err);
}

cay_status store_cache_find(store *s, cay_slice name, char **full_name, buf *code, cay_error *err) {
  (void)pthread_mutex_lock(&s->mu);
  cay_status status = cache_find(s, name, full_name, code, err);
  (void)pthread_mutex_unlock(&s->mu);
  return status;
}

/* ---- all of it ---- */

static cay_status cache_list(store *s, cay_slice filter, uint32_t number, pb_writer *w, cay_error *err) {
  sqlite3_stmt *of;
  S_TRY(sql_use(s, "SELECT name, description, hash, created_at FROM cache ORDER BY id DESC", &of, err));
  for (bool row = true;;) {
    S_TRY(sql_step(s, of, &row, err));
    if (!row) return CAY_OK;
    cache_entry entry = { .name = (const char *)sqlite3_column_text(of, 0),
                          .description = (const char *)sqlite3_column_text(of, 1),
                          .hash = (const char *)sqlite3_column_text(of, 2),
                          .created_ms = sqlite3_column_int64(of, 3) };
    if (entry.name == NULL || entry.description == NULL || entry.hash == NULL) {
      (void)sqlite3_reset(of);
      return err_no_memory(err);
    }
    if (!glob_matches(filter, (cay_slice){ entry.name, strlen(entry.name) })) continue;
    size_t begun = pb_begin(w, number);
    put_entry(&entry, w);
    pb_end(w, begun);
  }
}

cay_status store_cache_list(store *s, cay_slice filter, uint32_t number, pb_writer *w, cay_error *err) {
  (void)pthread_mutex_lock(&s->mu);
  cay_status status = cache_list(s, filter, number, w, err);
  (void)pthread_mutex_unlock(&s->mu);
  return status;
}

cay_status store_cache_clear(store *s, int64_t *deleted, cay_error *err) {
  sqlite3_stmt *of;
  (void)pthread_mutex_lock(&s->mu);
  cay_status status = sql_use(s, "DELETE FROM cache", &of, err);
  if (status == CAY_OK) status = sql_run(s, of, err);
  if (status == CAY_OK) *deleted = sqlite3_changes64(s->db);
  (void)pthread_mutex_unlock(&s->mu);
  return status;
}

int64_t store_cache_count(store *s) {
  sqlite3_stmt *of;
  bool row = false;
  int64_t count = -1;
  (void)pthread_mutex_lock(&s->mu);
  if (sql_use(s, "SELECT count(*) FROM cache", &of, NULL) == CAY_OK &&
      sql_step(s, of, &row, NULL) == CAY_OK && row) {
    count = sqlite3_column_int64(of, 0);
    (void)sqlite3_reset(of);
  }
  (void)pthread_mutex_unlock(&s->mu);
  return count;
}
