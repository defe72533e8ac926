/* control.c - ancillary data of sendmsg(2) and recvmsg(2): descriptors and credentials, decoded and
 * encoded (control.h). */
#include "abi/linux/control.h"

enum { SCM_RIGHTS = 1, SCM_CREDENTIALS = 2, HEAD = sizeof(struct g_cmsghdr), MOST = 128 << 10 };

static uint32_t aligned(uint32_t len) { return (len + 3) & ~3u; }

/* ---- sending ---- */

static k_ret add_rights(const k_file *f, const uint8_t *data, uint32_t len, abi_control *out) {
  size_t count = len / sizeof *out->fds;
  if (k_socket_family(f) != K_AF_UNIX || count > K_PARCEL_MAX - out->count) return -K_EINVAL;
  if (count != 0) memcpy(out->fds + out->count, data, count * sizeof *out->fds);
  out->count += count;
  return 0;
}

/* A process may send only its own credentials; the receiver gets the true ones anyway. */
static k_ret check_credentials(abi_machine *m, const uint8_t *data, uint32_t len) {
  struct g_ucred cred;
  if (len != sizeof cred) return -K_EINVAL;
  memcpy(&cred, data, sizeof cred);
  bool own = cred.pid == m->p->pid && cred.uid == m->p->view.uid && cred.gid == m->p->view.gid;
  return own ? 0 : -K_EPERM;
}

static k_ret get_one(abi_machine *m, const k_file *f, const struct g_cmsghdr *head, const uint8_t *data,
                     abi_control *out) {
  if (head->level != K_SOL_SOCKET) return 0;
  switch (head->type) {
  case SCM_RIGHTS: return add_rights(f, data, head->len - HEAD, out);
  case SCM_CREDENTIALS: return check_credentials(m, data, head->len - HEAD);
  default: return -K_EINVAL;
  }
}

k_ret abi_get_control(abi_machine *m, const k_file *f, uint32_t addr, uint32_t len, abi_control *out) {
  void *bytes = NULL;
  struct g_cmsghdr head;
  out->count = 0;
  if (addr == 0 || len == 0) return 0;
  if (len > MOST) return -K_ENOBUFS;
  K_TRY(abi_ptr(m->instance, addr, len, &bytes));
  for (uint32_t at = 0; len - at >= HEAD;) {
    memcpy(&head, (uint8_t *)bytes + at, HEAD);
    if (head.len < HEAD || head.len > len - at) return -K_EINVAL;
    K_TRY(get_one(m, f, &head, (uint8_t *)bytes + at + HEAD, out));
    if (aligned(head.len) > len - at) break;
    at += aligned(head.len);
  }
  return 0;
}

/* ---- receiving ---- */

typedef struct room {
  uint8_t *at;
  uint32_t len, used;
} room;

/* A head and `len` bytes, which fit; the padding at the end as far as it fits. */
static void control_put_one(room *r, int32_t type, const void *data, uint32_t len) {
  struct g_cmsghdr head = { .len = HEAD + len, .level = K_SOL_SOCKET, .type = type };
  memcpy(r->at + r->used, &head, HEAD);
  memcpy(r->at + r->used + HEAD, data, len);
  uint32_t whole = aligned(head.len), left = r->len - r->used;
  r->used += whole < left ? whole : left;
}

static uint32_t left_for_data(const room *r) {
  uint32_t left = r->len - r->used;
  return left > HEAD ? left - HEAD : 0;
}

/* Whether all of it is there. */
static bool put_credentials(room *r, const k_cred *from) {
  struct g_ucred cred = { .pid = from->pid, .uid = from->uid, .gid = from->gid };
  uint32_t len = left_for_data(r) < sizeof cred ? left_for_data(r) : (uint32_t)sizeof cred;
  if (r->len - r->used < HEAD) return false;
  control_put_one(r, SCM_CREDENTIALS, &cred, len);
  return len == sizeof cred;
}

K_LOCKED static bool put_rights(abi_machine *m, room *r, const k_parcel *parcel, bool cloexec) {
  int32_t fds[K_PARCEL_MAX];
  size_t count = k_parcel_count(parcel), most = left_for_data(r) / sizeof *fds, opened = 0;
  while (opened < count && opened < most) {
    k_ret fd = k_parcel_open(m->p, parcel, opened, cloexec);
    if (fd < 0) break;
    fds[opened++] = (int32_t)fd;
  }
  if (opened > 0) control_put_one(r, SCM_RIGHTS, fds, (uint32_t)(opened * sizeof *fds));
  return opened == count;
}

k_ret abi_check_control(abi_machine *m, uint32_t addr, uint32_t len) {
  void *unused = NULL;
  return addr == 0 ? 0 : abi_ptr(m->instance, addr, len, &unused);
}

void abi_put_control(abi_machine *m, struct g_msghdr *head, const k_received *what) {
  void *bytes = NULL;
  room r = { 0 };
  if (head->control != 0 && abi_ptr(m->instance, head->control, head->control_len, &bytes) >= 0)
    r = (room){ .at = bytes, .len = head->control_len };
  bool whole = true;
  if (what->has_cred) whole = put_credentials(&r, &what->cred);
  if (what->parcel != NULL) whole &= put_rights(m, &r, what->parcel, (head->flags & MSG_CMSG_CLOEXEC) != 0);
  if (!whole) head->flags |= MSG_CTRUNC;
  head->control_len = r.used;
}
