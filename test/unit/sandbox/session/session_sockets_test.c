/* session_sockets_test.c - what becomes of sockets and terminals when sessions are frozen, copied, put back
 * and undone. */
#include "sessions.h"

static void expect_stopped(cay_session *s, const char *code, uint32_t ms, bool undone) {
  cay_value *v = eval_ms(s, code, ms);
  EXPECT_EQ(v->outcome, CAY_OUTCOME_STOPPED);
  EXPECT_EQ(v->end, CAY_END_TIME);
  EXPECT_EQ(v->undone, undone);
  cay_value_free(v);
}

/* ---- sockets and terminals ---- */

#define OPEN                                                                                                 \
  "import os, socket\n"                                                                                      \
  "def connects(port):\n"                                                                                    \
  "  with socket.create_connection(('127.0.0.1', port)): return True\n"                                      \
  "server = socket.create_server(('127.0.0.1', 7000))\n"                                                     \
  "a, b = socket.socketpair()\n"                                                                             \
  "socket.send_fds(a, [b'in flight'], [a.fileno()])\n"                                                       \
  "master, slave = os.openpty()\n"

TEST(an_image_has_no_sockets_and_no_terminals) {
  cay_sandbox *box = box_new(), *other = box_new();
  cay_session *s = session(box), *copies[2] = { NULL };
  cay_image *image = NULL;
  expect_repr(s, OPEN, "");
  EXPECT_EQ(cay_session_freeze(s, &image, NULL), CAY_OK);
  cay_session_options options = CAY_INIT(cay_session_options, .image = image);
  EXPECT_EQ(cay_session_new(box, &options, &copies[0], NULL), CAY_OK);
  EXPECT_EQ(cay_session_new(other, &options, &copies[1], NULL), CAY_OK);
  for (size_t i = 0; i < COUNT_OF(copies); i++) {
    expect_repr(copies[i], "a.family.name, server.fileno() > 2", "('AF_UNIX', True)");
    expect_error(copies[i], "a.send(b'x')", "OSError");
    expect_error(copies[i], "b.recv(9)", "OSError");
    expect_error(copies[i], "server.accept()", "OSError");
    expect_error(copies[i], "os.write(master, b'x')", "OSError");
  }
  /* Each sandbox has the ports for itself. */
  expect_error(copies[0], "again = socket.create_server(('127.0.0.1', 7000))", "OSError");
  expect_repr(copies[0], "connects(7000)", "True");
  expect_error(copies[1], "connects(7000)", "ConnectionRefusedError");
  expect_repr(copies[1], "again = socket.create_server(('127.0.0.1', 7000)); connects(7000)", "True");
  expect_repr(s, "socket.recv_fds(b, 99, 1)[0], len(server.accept())", "(b'in flight', 2)");
  expect_repr(s, "os.write(master, b'x\\n'), os.read(slave, 9)", "(2, b'x\\n')");
  cay_image_free(image);
  cay_sandbox_free(box);
  cay_sandbox_free(other);
}

TEST(a_session_put_back_has_none_either_and_the_ports_are_free) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  cay_image *image = NULL;
  expect_repr(s, OPEN, "");
  EXPECT_EQ(cay_session_freeze(s, &image, NULL), CAY_OK);
  expect_repr(s, "b.close(); os.close(slave)", "");
  EXPECT_EQ(cay_session_restore(s, image, NULL), CAY_OK);
  expect_error(s, "connects(7000)", "ConnectionRefusedError");
  expect_error(s, "server.accept()", "OSError");
  expect_error(s, "a.send(b'x')", "OSError");
  expect_error(s, "os.read(slave, 9)", "OSError");
  expect_repr(s, "server.close(); a.close(); b.close(); os.close(slave)", "");
  expect_repr(s, "again = socket.create_server(('127.0.0.1', 7000)); connects(7000)", "True");
  cay_image_free(image);
  cay_sandbox_free(box);
}

#define FOR_EVER "\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass"

TEST(an_undone_evaluation_leaves_no_sockets_and_opens_none_again) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s, OPEN, "");
  expect_repr(s, "1", "1");
  const char *stubborn = "socket.recv_fds(b, 99, 1)\n"
                         "number = b.fileno(); b.close(); os.close(slave)\n"
                         "others = [socket.create_server(('127.0.0.1', 7001 + i)) for i in range(3)]\n"
                         "assert others[0].fileno() == number\n"
                         "more = os.openpty(), socket.create_connection(('127.0.0.1', 7000))" FOR_EVER;
  expect_stopped(s, stubborn, 1000, true); /* all that comes first must be done by then */
  expect_error(s, "number", "NameError");
  expect_error(s, "connects(7001)", "ConnectionRefusedError");
  expect_error(s, "b.recv(9)", "OSError"); /* another had its number */
  expect_error(s, "os.read(slave, 9)", "OSError");
  expect_repr(s, "a.recv(9)", "b''");
  expect_repr(s, "with server.accept()[0] as gone: gone.recv(9)", "");
  expect_repr(s, "connects(7000), len(server.accept())", "(True, 2)");
  expect_repr(s, "c, d = socket.socketpair(); c.send(b'x'), d.recv(9)", "(1, b'x')");
  cay_sandbox_free(box);
}

/* A sandbox may go with all of it open, and with what only sockets in flight hold. */
TEST(a_sandbox_goes_with_its_sockets) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s,
              "import os, socket\n"
              "for i in range(20):\n"
              "  pair = socket.socketpair()\n"
              "  for end in pair: socket.send_fds(end, [b'x'], [e.fileno() for e in pair])\n"
              "held = [socket.create_server(('127.0.0.1', 0)), socket.socketpair(), os.openpty()]",
              "");
  cay_sandbox_free(box);
}
