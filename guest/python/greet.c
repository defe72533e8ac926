/* GREET: what a copy of an image must learn before anything runs in it. It happens in every new session, so
 * it touches as little as it can: everything that can be looked up was looked up before the image was made.
 */

#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "driver.h"
#include "environment.h"

#include "internal/pycore_pyhash.h"

enum { SEED_MAX = 32 };

#define PACKAGES "/usr/local/lib/python3.13/dist-packages" /* PACKAGES of cay/_process.py */

static struct {
  PyObject *generator, *seed; /* random's own generator, and how it is seeded without Python code */
  PyObject *gauss_next, *tempfile, *name_sequence;
} known;

int greet_prepare(void) {
  PyObject *random = PyImport_ImportModule("random"), *base = PyImport_ImportModule("_random");
  PyObject *type = base ? PyObject_GetAttrString(base, "Random") : NULL;
  known.generator = random ? PyObject_GetAttrString(random, "_inst") : NULL;
  known.seed = type ? PyObject_GetAttrString(type, "seed") : NULL;
  known.gauss_next = PyUnicode_InternFromString("gauss_next");
  known.tempfile = PyUnicode_InternFromString("tempfile");
  known.name_sequence = PyUnicode_InternFromString("_name_sequence");
  Py_XDECREF(type);
  Py_XDECREF(base);
  Py_XDECREF(random);
  bool found = known.generator && known.seed && known.gauss_next && known.tempfile && known.name_sequence;
  return found && stop_prepare() == 0 ? environment_read() : -1;
}

int greet_reseed_hashes(const char *seed, size_t len) {
  uint64_t own[2];
  if (!len && getrandom(own, sizeof own, 0) != (ssize_t)sizeof own)
    return PyErr_SetFromErrno(PyExc_OSError), -1;
  for (uint64_t i = 0; len && i < sizeof own / sizeof *own; i++)
    own[i] = _Py_KeyedHash(i, seed, (Py_ssize_t)len);
  cay_hash_reseed(own);
  return 0;
}

static PyObject *number_of(const char *seed, size_t len) {
  unsigned char own[SEED_MAX];
  if (len) return _PyLong_FromByteArray((const unsigned char *)seed, len, 1, 0);
  if (getrandom(own, sizeof own, 0) != (ssize_t)sizeof own) return PyErr_SetFromErrno(PyExc_OSError);
  return _PyLong_FromByteArray(own, sizeof own, 1, 0);
}

/* Names of temporary files come from a generator of their own, which is made when it is missing. */
static int reseed_names(void) {
  PyObject *module = PyDict_GetItemWithError(PyImport_GetModuleDict(), known.tempfile);
  return module ? PyObject_SetAttr(module, known.name_sequence, Py_None) : PyErr_Occurred() ? -1 : 0;
}

/* OpenSSL draws from generators of its own, and seeds them anew when this number has changed since they last
 * were used: elsewhere it is the process, which changes by fork. */
static int generation;

int __wrap_openssl_get_fork_id(void);
int __wrap_openssl_get_fork_id(void) { return generation; }

int greet_reseed(const char *seed, size_t len) {
  generation++;
  PyObject *number = number_of(seed, len);
  PyObject *done = number ? PyObject_CallFunctionObjArgs(known.seed, known.generator, number, NULL) : NULL;
  Py_XDECREF(number);
  Py_XDECREF(done);
  return done && PyObject_SetAttr(known.generator, known.gauss_next, Py_None) == 0 ? reseed_names() : -1;
}

/* Packages that were not there when the image was made may have files NAME.pth. */
static int read_path_files(void) {
  PyObject *done =
      access(PACKAGES, F_OK) == 0 ? helper_call("process", "read_path_files", "()") : Py_NewRef(Py_None);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

static int set_time_zone(void) {
  PyObject *done = getenv("TZ") ? helper_call("process", "set_time_zone", "()") : Py_NewRef(Py_None);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

int greet(fields *request) {
  greeting g;
  greeting_read(request, &g);
  if (greet_reseed_hashes(g.seed.data, g.seed.len) < 0) return -1;
  if (g.count && (environment_replace(g.variables, g.count) < 0 || set_time_zone() < 0)) return -1;
  return greet_reseed(g.seed.data, g.seed.len) < 0 ? -1 : read_path_files();
}
