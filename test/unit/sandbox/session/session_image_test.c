/* session_image_test.c - open files of a session that is frozen, forked, restored, saved or undone. */
#include "sessions.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* fails(f, ...): the number of the OSError that f(...) raises, or None. */
#define FAILS "def fails(call, *args):\n  try: call(*args)\n  except OSError as e: return e.errno\n"

static void put_text(cay_sandbox *box, const char *path, const char *text) {
  EXPECT_EQ(cay_file_write(box, path, box_text(text), 0644, NULL), CAY_OK);
}

static cay_session *fork_into(cay_sandbox *box, cay_session *from) {
  cay_image *image = frozen(from);
  cay_session *copy = session_of(box, image);
  cay_image_free(image);
  return copy;
}

/* Ends by force whatever the interpreter says. */
static void undo(cay_session *s, const char *code) {
  char text[2000];
  (void)snprintf(text, sizeof text, "%s\nos._exit(1)", code);
  cay_value *v = eval_ms(s, text, 0);
  EXPECT_EQ(v->outcome, CAY_OUTCOME_STOPPED);
  EXPECT(v->undone);
  cay_value_free(v);
}

/* ---- copies ---- */

TEST(an_open_file_goes_on_in_a_copy_where_it_was) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s, "import os; _ = open('/tmp/f', 'w').write('one\\ntwo\\nthree\\n' * 10000)", "");
  expect_repr(s, "f = open('/tmp/f'); f.readline()", "'one\\n'");
  expect_repr(s, "g = (line for line in open('/tmp/f')); next(g), next(g)", "('one\\n', 'two\\n')");
  expect_repr(s, "w = open('/tmp/log', 'a'); w.write('first '), w.flush(), w.write('second ')",
              "(6, None, 7)");
  expect_repr(
      s,
      "d = os.open('/tmp', os.O_RDONLY | os.O_DIRECTORY); r = os.open('/tmp/f', os.O_RDONLY); os.read(r, 4)",
      "b'one\\n'");
  expect_repr(s, "r2 = os.dup(r); os.set_inheritable(r2, True)", "");
  cay_session *copy = fork_into(box, s);
  expect_repr(copy, "f.readline(), next(g), len(f.read())", "('two\\n', 'three\\n', 139992)");
  expect_repr(copy, "w.write('copied'); w.close(); open('/tmp/log').read()", "'first second copied'");
  expect_repr(copy, "os.stat('f', dir_fd=d).st_size", "140000");
  expect_repr(copy, "os.read(r, 3), os.read(r2, 3), os.get_inheritable(r), os.get_inheritable(r2)",
              "(b'two', b'\\nth', False, True)");
  expect_repr(s, "f.readline(), next(g), os.read(r2, 3)", "('two\\n', 'three\\n', b'two')");
  cay_sandbox_free(box);
}

TEST(a_copy_elsewhere_sees_the_files_of_its_own_sandbox) {
  cay_sandbox *box = box_new(), *other = box_new();
  cay_session *s = session(box);
  put_text(box, "/tmp/f", "here here");
  put_text(other, "/tmp/f", "there there");
  expect_repr(s, "import os; f = open('/tmp/f', 'rb', 0); f.read(5)", "b'here '");
  expect_repr(s, "made = open('/tmp/made', 'x'); cut = open('/tmp/f', 'r+'); new = open('/tmp/new', 'w')",
              "");
  cay_session *copy = fork_into(other, s);
  expect_repr(copy, "f.read()", "b' there'");
  expect_repr(copy, "sorted(os.listdir('/tmp'))", "['f']");
  expect_repr(copy, "cut.read()", "'there there'");
  cay_sandbox_free(box);
  cay_sandbox_free(other);
}

TEST(a_file_that_cannot_be_had_is_dead_until_it_is_closed) {
  cay_sandbox *box = box_new(), *other = box_new();
  cay_session *s = session(box);
  put_text(box, "/tmp/gone", "text");
  expect_repr(s, "import os; f = open('/tmp/gone'); n = f.fileno(); w = open('/tmp/w', 'w')", "");
  expect_repr(s, FAILS "fails(os.read, n, 1)", "");
  cay_session *copy = fork_into(other, s);
  expect_repr(copy, "import errno; errno.EBADF", "9");
  expect_error(copy, "f.read()", "OSError");
  expect_repr(copy, "open('/tmp/other', 'w').fileno() > n", "True");
  expect_repr(
      copy,
      "[fails(*c) for c in ((os.read, n, 1), (os.write, n, b'x'), (os.lseek, n, 0, 0), (os.fstat, n), "
      "(os.ftruncate, n, 0), (os.fsync, n), (os.listdir, n), (os.fchmod, n, 0o600), (os.pread, n, 1, 0))]",
      "[9, 9, 9, 9, 9, 9, 9, 9, 9]");
  expect_repr(copy, "fails(lambda: os.open('x', os.O_RDONLY, dir_fd=n))", "9");
  expect_repr(copy, "import select; p = select.poll(); p.register(n); p.poll() == [(n, select.POLLNVAL)]",
              "True");
  expect_repr(copy, "f.close(); f.closed, fails(os.fstat, n), open('/tmp/other').fileno() == n",
              "(True, 9, True)");
  expect_repr(copy, "w.write('x'); fails(w.close), w.closed, os.path.exists('/tmp/w')", "(9, True, False)");
  cay_sandbox_free(box);
  cay_sandbox_free(other);
}

TEST(opening_again_asks_for_permission) {
  cay_sandbox *box = box_new(), *other = box_new();
  cay_session *s = session(box);
  const char *dir = test_dir();
  cay_mount_options shared = CAY_INIT(cay_mount_options, .host_path = dir, .path = "/mnt", .writable = true);
  EXPECT_EQ(cay_mount(box, &shared, NULL), CAY_OK);
  shared.writable = false;
  EXPECT_EQ(cay_mount(other, &shared, NULL), CAY_OK);
  expect_repr(s, "w = open('/mnt/f', 'w', 1); r = open('/mnt/f'); w.write('a line\\n')", "7");
  cay_session *copy = fork_into(other, s);
  expect_repr(copy, "r.read()", "'a line\\n'");
  expect_error(copy, "w.write('another\\n')", "OSError");
  cay_session *free_copy = fork_into(box, s);
  expect_repr(free_copy, "w.write('another\\n'); r.read()", "'a line\\nanother\\n'");
  cay_sandbox_free(box);
  cay_sandbox_free(other);
}

TEST(pipes_go_along_and_what_leads_outside_is_dead) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s, "import os, socket, subprocess, select; r, w = os.pipe(); os.write(w, b'queued')", "6");
  expect_repr(s, "a, b = socket.socketpair(); e = select.epoll(); out = os.dup(1)", "");
  expect_repr(s, "p = subprocess.Popen(['sleep', '100'], stdout=subprocess.PIPE)", "");
  cay_session *copy = fork_into(box, s);
  expect_repr(copy, "os.read(r, 100), os.write(w, b'more'), os.read(r, 100)", "(b'queued', 4, b'more')");
  expect_repr(copy, "os.close(w); os.read(r, 1)", "b''");
  expect_repr(copy, FAILS, "");
  expect_repr(
      copy,
      "[fails(*c) for c in ((a.send, b'x'), (b.recv, 1), (a.getsockname,), (a.shutdown, 2), (e.poll, 0), "
      "(e.register, r), (select.epoll().register, a.fileno()), (os.write, out, b'x'), "
      "(os.read, p.stdout.fileno(), 1))]",
      "[9, 9, 9, 9, 9, 9, 9, 9, 9]");
  expect_repr(copy, "os.readlink(f'/proc/self/fd/{a.fileno()}')", "'anon_inode:[dead]'");
  expect_repr(copy, "a.close(), e.close(), p.stdout.close()", "(None, None, None)");
  expect_repr(s, "b.send(b'x'), a.recv(1), os.read(r, 100)", "(1, b'x', b'queued')");
  expect_repr(s, "p.kill(); p.wait()", "-9");
  cay_sandbox_free(box);
}

TEST(awaiting_works_in_a_copy_whatever_the_loop_had_open) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(
      s,
      "import asyncio, signal\nloop = asyncio.get_running_loop()\nloop.add_signal_handler(signal.SIGUSR1, print)\n"
      "p = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)\np.returncode is None",
      "True");
  cay_session *copy = fork_into(box, s);
  expect_repr(copy, "await asyncio.sleep(0.01)\n1", "1");
  expect_repr(copy, "q = await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)\nawait q.communicate()",
              "(b'x\\n', None)");
  expect_repr(s, "await p.communicate(b'text')", "(b'text', None)");
  cay_sandbox_free(box);
}

/* ---- going back ---- */

TEST(a_session_that_is_restored_has_the_files_of_then) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  put_text(box, "/tmp/f", "one two three");
  put_text(box, "/tmp/g", "other");
  expect_repr(s, "import os; f = open('/tmp/f', 'rb', 0); n = f.fileno(); f.read(4)", "b'one '");
  cay_image *image = frozen(s);
  expect_repr(s,
              "f.close(); g = open('/tmp/g'); later = [open('/tmp/g') for _ in range(20)]; g.fileno() == n",
              "True");
  EXPECT_EQ(cay_session_restore(s, image, NULL), CAY_OK);
  expect_repr(s, "len(os.listdir('/proc/self/fd')), f.read()", "(5, b'two three')");
  EXPECT_EQ(cay_session_restore(s, image, NULL), CAY_OK);
  expect_repr(s, "f.read()", "b'two three'");
  expect_repr(s, "f.close()", "");
  cay_image *closed = frozen(s);
  EXPECT_EQ(cay_session_restore(s, image, NULL), CAY_OK);
  EXPECT_EQ(cay_session_restore(s, closed, NULL), CAY_OK);
  expect_repr(s, "len(os.listdir('/proc/self/fd')), f.closed", "(4, True)");
  cay_image_free(image);
  cay_image_free(closed);
  cay_sandbox_free(box);
}

TEST(undo_restores_file_positions) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  put_text(box, "/tmp/f", "one two three");
  put_text(box, "/tmp/g", "other");
  expect_repr(
      s,
      "import os; f = open('/tmp/f', 'rb', 0); g = open('/tmp/f', 'rb', 0); n = f.fileno(); f.read(4), g.read(8)",
      "(b'one ', b'one two ')");
  for (int i = 0; i < 3; i++) {
    undo(
        s,
        "f.close(); h = open('/tmp/g'); g.read(); more = [open('/tmp/g') for _ in range(20)]; os.unlink('/tmp/f')");
    expect_repr(s, "len(os.listdir('/proc/self/fd'))", "6");
    expect_repr(s, "f.fileno() == n, f.read(), g.read()", "(True, b'two three', b'three')");
    expect_repr(s, "f.seek(4), g.seek(8)", "(4, 8)");
    put_text(box, "/tmp/f", "a new file");
  }
  undo(s, "r, w = os.pipe(); f.seek(0)");
  expect_repr(s, "r, w = os.pipe(); f.read(3)", "b'two'");
  undo(s, "os.close(w); assert os.read(r, 1) == b''");
  expect_error(s, "os.write(w, b'x')", "OSError");
  expect_repr(s, "os.close(r), os.close(w)", "(None, None)");
  cay_sandbox_free(box);
}

TEST(a_deadline_with_files_open_is_undone_in_a_copy_too) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  put_text(box, "/tmp/f", "one two three");
  expect_repr(s, "import os; f = open('/tmp/f', 'rb', 0); f.read(4)", "b'one '");
  cay_session *copy = fork_into(box, s);
  undo(copy, "f.close()"); /* the first evaluation: it goes back to the image */
  expect_repr(copy, "f.read(3)", "b'two'");
  cay_sandbox_free(box);
}

/* ---- files of images ---- */

static void damage(const char *path, long at) {
  FILE *file = fopen(path, "r+e");
  EXPECT(file != NULL);
  EXPECT_EQ(fseek(file, at, SEEK_SET), 0);
  int byte = fgetc(file);
  EXPECT_EQ(fseek(file, at, SEEK_SET), 0);
  EXPECT_EQ(fputc(byte ^ 1, file), byte ^ 1);
  EXPECT_EQ(fclose(file), 0);
}

TEST(an_image_in_a_file_has_its_descriptors_and_they_are_checked) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  cay_error err;
  char path[300];
  (void)snprintf(path, sizeof path, "%s/files.image", test_dir());
  put_text(box, "/tmp/f", "one two three");
  expect_repr(
      s, "import os; f = open('/tmp/f', 'rb', 0); f.read(4); r, w = os.pipe(); os.write(w, b'queued')", "6");
  cay_image *image = frozen(s), *loaded = NULL;
  EXPECT_EQ(cay_image_install(image, path, &err), CAY_UNSUPPORTED);
  EXPECT(strstr(err.message, "open") != NULL);
  EXPECT_EQ(cay_image_save(image, path, NULL), CAY_OK);
  EXPECT_EQ(cay_image_load(box_engine(), NULL, path, &loaded, NULL), CAY_OK);
  cay_session *copy = session_of(box, loaded);
  expect_repr(copy, "f.read(), os.read(r, 10)", "(b'two three', b'queued')");
  cay_image_free(loaded);
  loaded = NULL;
  for (long at = 0; at < 1200; at += at < 64 ? 3 : 61) {
    damage(path, at);
    cay_status status = cay_image_load(box_engine(), NULL, path, &loaded, &err);
    EXPECT(status == CAY_CORRUPT || (status == CAY_UNSUPPORTED && at >= 8 && at < 12));
    damage(path, at);
  }
  EXPECT_EQ(truncate(path, 30), 0);
  EXPECT_EQ(cay_image_load(box_engine(), NULL, path, &loaded, &err), CAY_CORRUPT);
  FILE *old = fopen(path, "we");
  EXPECT_EQ(fwrite("cay-imag\1\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0", 1, 24, old), 24);
  EXPECT_EQ(fclose(old), 0);
  EXPECT_EQ(cay_image_load(box_engine(), NULL, path, &loaded, &err), CAY_UNSUPPORTED);
  EXPECT(strstr(err.message, "version 1") != NULL);
  cay_image_free(image);
  cay_sandbox_free(box);
}

TEST(an_image_that_is_built_keeps_what_its_code_left_open) {
  cay_image *image = NULL;
  cay_error err;
  const char *code =
      "import builtins\nbuiltins.f = open('/etc/passwd')\nbuiltins.first = builtins.f.readline()";
  EXPECT_EQ(cay_image_build(box_engine(), &CAY_INIT(cay_image_options, .code = code), &image, &err), CAY_OK);
  cay_sandbox *box = box_new();
  cay_session *s = session_of(box, image);
  expect_repr(s, "first + f.read() == open('/etc/passwd').read() and len(first) > 5", "True");
  cay_image_free(image);
  cay_sandbox_free(box);
}

/* ---- when memory runs out ---- */

TEST(a_session_is_frozen_and_restored_with_its_files_or_stays_as_it_is) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  cay_image *image = NULL;
  put_text(box, "/tmp/f", "one two three");
  expect_repr(s, "f = open('/tmp/f', 'rb', 0); f.read(4)", "b'one '");
  AT_EVERY_FAULT {
    cay_image_free(image);
    image = NULL;
    cay_status status = cay_session_freeze(s, &image, NULL);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY || status == CAY_IO);
    EXPECT_EQ(status == CAY_OK, image != NULL);
  }
  expect_repr(s, "f.close(); x = 1", "");
  for (size_t fault = 1, failed = 1; failed; fault++) {
    mem_fail_at(fault);
    cay_status status = cay_session_restore(s, image, NULL);
    failed = mem_has_failed();
    mem_fail_at(0);
    if (status != CAY_OK) expect_repr(s, "x, f.closed", "(1, True)");
    if (status == CAY_OK && failed) expect_repr(s, "f.read(); f.close(); x = 1", "");
  }
  expect_repr(s, "f.read()", "b'two three'");
  cay_image_free(image);
  cay_sandbox_free(box);
}

/* ---- signals ---- */

TEST(image_has_the_signal_actions) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(
      s,
      "import os, signal; got = []; signal.signal(signal.SIGUSR1, lambda number, frame: got.append(number))\n"
      "def hit(number=signal.SIGUSR1):\n  os.kill(os.getpid(), number); return got",
      "");
  expect_repr(
      s,
      "signal.signal(signal.SIGUSR2, signal.SIG_IGN); signal.pthread_sigmask(signal.SIG_BLOCK, [10, 15]); os.umask(0o27)",
      "18");
  cay_image *image = frozen(s);
  cay_session *copy = session_of(box, image);
  expect_repr(copy, "hit(signal.SIGUSR2), hit()", "([], [])");
  expect_repr(copy, "sorted(map(int, signal.pthread_sigmask(signal.SIG_UNBLOCK, [10]))), got, os.umask(0o27)",
              "([10, 15], [10], 23)");
  expect_repr(
      s,
      "signal.signal(signal.SIGUSR1, signal.SIG_DFL); signal.pthread_sigmask(signal.SIG_SETMASK, []); os.umask(0)",
      "23");
  EXPECT_EQ(cay_session_restore(s, image, NULL), CAY_OK);
  expect_repr(
      s,
      "hit(); len(signal.sigpending()), signal.pthread_sigmask(signal.SIG_SETMASK, []) and got, os.umask(0)",
      "(1, [10], 23)");
  expect_repr(session(box), "import os; os.umask(0)", "18"); /* of this session alone */
  cay_image_free(image);
  cay_sandbox_free(box);
}

/* ---- terminals ---- */

TEST(a_terminal_stays_with_the_session_that_opened_it) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(
      s, "import os, pty, subprocess; m, t = pty.openpty(); name = os.ttyname(t); os.write(t, b'shown\\n')",
      "6");
  expect_repr(s, "p = subprocess.Popen(['cat'], stdin=t, stdout=t); os.read(m, 100)", "b'shown\\r\\n'");
  cay_session *copy = fork_into(box, s);
  expect_repr(copy,
              FAILS "fails(os.read, m, 1), fails(os.write, t, b'x'), fails(os.ttyname, m), os.isatty(t)",
              "(9, 9, 9, False)");
  expect_repr(copy, "os.close(m), os.close(t); n, u = pty.openpty(); os.ttyname(u) != name", "True");
  cay_session_free(copy);
  expect_repr(
      s, "os.write(m, b'typed\\n'); out = b''\nwhile out.count(b'typed') < 2: out += os.read(m, 100)\nout",
      "b'typed\\r\\ntyped\\r\\n'");
  expect_repr(s, "os.write(m, b'\\x04'); p.wait()", "0");
  cay_sandbox_free(box);
}

/* Closing the master hangs the terminal up, which would end the processes it controls. */
TEST(going_back_closes_a_terminal_and_the_session_lives_on) {
  static const char open[] =
      "import os, pty; m, t = pty.openpty(); c = os.open(os.ttyname(t), os.O_RDWR); os.getsid(0)\n"
      "os.tcgetpgrp(c) == os.getpgrp()";
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s, "x = 1", "");
  cay_image *image = frozen(s);
  expect_repr(s, open, "True");
  EXPECT_EQ(cay_session_restore(s, image, NULL), CAY_OK);
  expect_repr(s, "import os; x, len(os.listdir('/proc/self/fd'))", "(1, 4)");
  undo(s, open);
  expect_repr(s, "x, len(os.listdir('/proc/self/fd'))", "(1, 4)");
  expect_repr(s, open, "True");
  undo(s, "os.close(m)"); /* ends it by SIGHUP */
  expect_repr(s, FAILS "x, fails(os.read, m, 1), os.close(m), os.close(t), os.close(c)",
              "(1, 9, None, None, None)");
  expect_repr(s, open, "True");
  cay_session *copy = fork_into(box, s);
  expect_repr(copy, "[os.close(f) for f in (m, t, c)]", "[None, None, None]");
  expect_repr(s, "os.write(t, b'x'); os.read(m, 1)", "b'x'");
  cay_image_free(image);
  cay_sandbox_free(box);
}
