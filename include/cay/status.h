/* status.h - how the functions of cay report failure, and the two ways they hand over bytes.
 *
 * Included by cay.h; every layer of the library uses these types, so they live apart from the rest of
 * the public interface. Plain data throughout: nothing here allocates except the contents of a cay_buf. */
#ifndef CAY_STATUS_H
#define CAY_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CAY_API __attribute__((visibility("default")))
#define CAY_CHECK __attribute__((warn_unused_result))
#else
#define CAY_API
#define CAY_CHECK
#endif

typedef enum cay_status {
  CAY_OK = 0,
  CAY_INVALID = 1,   /* the caller passed something that can never work     */
  CAY_NO_MEMORY = 2, /* the host is out of memory                           */
  CAY_NOT_FOUND = 3, /* no such file, process, guest, tool or snapshot      */
  CAY_EXISTS = 4,
  CAY_DENIED = 5,    /* policy or capability says no                        */
  CAY_LIMIT = 6,     /* a quota of this sandbox is used up                  */
  CAY_TIMEOUT = 7,   /* the wait given by the caller ran out                */
  CAY_CANCELLED = 8, /* cay_sandbox_interrupt                               */
  CAY_BUSY = 9,      /* needs a sandbox at rest and processes are running   */
  CAY_CORRUPT = 10,  /* a module, manifest or snapshot does not verify      */
  CAY_UNSUPPORTED = 11,
  CAY_IO = 12,       /* the host failed us; os_errno says how               */
  CAY_INTERNAL = 13, /* a bug in this library; please report the message    */
} cay_status;

/* Filled by a failing call. No allocation, nothing to free, so no error path can leak. */
typedef struct cay_error {
  cay_status status;
  int32_t os_errno;  /* errno: the host's when status is CAY_IO, the sandbox's for file calls, else 0 */
  char message[248]; /* one line, outermost context first, always ended     */
} cay_error;

CAY_API const char *cay_version(void);                  /* "0.3.0"; static      */
CAY_API const char *cay_status_name(cay_status status); /* "denied"; static     */

typedef struct cay_slice {
  const void *data;
  size_t len;
} cay_slice;

/* Bytes that are yours: give them back with cay_buf_free. */
typedef struct cay_buf {
  void *data;
  size_t len;
} cay_buf;
CAY_API void cay_buf_free(cay_buf *buf); /* and empties it; NULL is fine */

#ifdef __cplusplus
}
#endif
#endif /* CAY_STATUS_H */
