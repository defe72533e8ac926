/* ldisc_test.c - termios(3), as src/kernel/tty/ldisc.h promises it. What Linux does is compared in
 * test/posix/pty_*. */
#include "kernel/tty/ldisc.h"
#include "native_runner.h"

static int last_signal;

static void on_signal(void *ctx, int sig) {
  (void)ctx;
  last_signal = sig;
}

typedef struct line {
  native *world;
  k_ldisc l;
  char text[70000];
} line;

static line *line_new(void) {
  line *w = mem_zalloc(sizeof *w);
  w->world = native_new(NULL);
  k_lock(native_kernel(w->world));
  k_ldisc_init(&w->l, native_kernel(w->world), on_signal, NULL);
  last_signal = 0;
  return w;
}

static void line_free(line *w) {
  k_ldisc_free(&w->l);
  EXPECT_EQ(native_kernel(w->world)->used.memory, 0);
  k_unlock(native_kernel(w->world));
  native_free(w->world);
  mem_free(w);
}

#define LINE(name)                                                                                           \
  static void name##_in(line *w);                                                                            \
  TEST(name) {                                                                                               \
    line *w = line_new();                                                                                    \
    name##_in(w);                                                                                            \
    line_free(w);                                                                                            \
  }                                                                                                          \
  static void name##_in(line *w)

static void type(line *w, const char *keys) {
  EXPECT_EQ(k_ldisc_receive(&w->l, (const uint8_t *)keys, strlen(keys)), strlen(keys));
}

/* The screen by now, and the bytes of the next read; "EAGAIN" when it would wait. */
static const char *screen(line *w) {
  w->text[k_ldisc_take(&w->l, w->text, sizeof w->text - 1)] = '\0';
  return w->text;
}

static const char *read_up_to(line *w, size_t len) {
  k_ret n = k_ldisc_read(&w->l, w->text, len);
  if (n == -K_EAGAIN) return "EAGAIN";
  EXPECT(n >= 0 && (size_t)n <= len);
  w->text[n] = '\0';
  return w->text;
}

static const char *reads(line *w) { return read_up_to(w, sizeof w->text - 1); }

static void local(line *w, uint32_t on, uint32_t off) {
  k_termios t = w->l.t;
  t.lflag = (t.lflag | on) & ~off;
  k_ldisc_set(&w->l, &t);
}

static void keys(line *w, uint32_t on, uint32_t off) {
  k_termios t = w->l.t;
  t.iflag = (t.iflag | on) & ~off;
  k_ldisc_set(&w->l, &t);
}

LINE(nothing_is_read_before_its_line_is_complete) {
  type(w, "abc");
  EXPECT_TEXT(reads(w), "EAGAIN");
  type(w, "\n");
  EXPECT_EQ(k_ldisc_readable(&w->l), 4);
  EXPECT_TEXT(reads(w), "abc\n");
}

LINE(one_read_gives_one_line_or_a_part_of_it) {
  type(w, "one\ntwo\n");
  EXPECT_TEXT(read_up_to(w, 2), "on");
  EXPECT_TEXT(reads(w), "e\n");
  EXPECT_TEXT(reads(w), "two\n");
}

LINE(erasing_moves_the_cursor_back) {
  type(w, "ab\x7f\x7f\x7f");
  EXPECT_TEXT(screen(w), "ab\b \b\b \b");
  type(w, "\n");
  EXPECT_TEXT(reads(w), "\n");
}

LINE(a_complete_line_cannot_be_erased) {
  type(w, "a\n\x7f\x15\x17\n");
  EXPECT_TEXT(reads(w), "a\n");
  EXPECT_TEXT(reads(w), "\n");
}

LINE(a_character_of_several_bytes_is_erased_as_one) {
  keys(w, K_IUTF8, 0);
  type(w, "a\xe2\x82\xac\x7f\n");
  EXPECT_TEXT(screen(w), "a\xe2\x82\xac\b \b\r\n");
  EXPECT_TEXT(reads(w), "a\n");
}

LINE(an_end_of_file_ends_a_read_and_is_no_byte) {
  type(w, "ab\x04\x04");
  EXPECT_EQ(k_ldisc_readable(&w->l), 2);
  EXPECT_TEXT(reads(w), "ab");
  EXPECT_TEXT(reads(w), "");
  EXPECT_TEXT(reads(w), "EAGAIN");
}

LINE(an_end_of_file_behind_the_last_byte_asked_for_is_not_seen_again) {
  type(w, "ab\x04");
  EXPECT_TEXT(read_up_to(w, 2), "ab");
  EXPECT_TEXT(reads(w), "EAGAIN");
}

LINE(keys_of_signals_are_no_input_and_drop_what_waits) {
  type(w, "lost\n\x03");
  EXPECT_EQ(last_signal, K_SIGINT);
  EXPECT_TEXT(reads(w), "EAGAIN");
  type(w, "\x1c");
  EXPECT_EQ(last_signal, K_SIGQUIT);
  type(w, "\x1a");
  EXPECT_EQ(last_signal, K_SIGTSTP);
  local(w, K_NOFLSH, 0);
  type(w, "kept\n\x03");
  EXPECT_TEXT(reads(w), "kept\n");
}

LINE(a_literal_next_takes_away_what_a_key_means) {
  type(w, "\x16\x03\x16\n\n");
  EXPECT_EQ(last_signal, 0);
  EXPECT_TEXT(screen(w), "^\b^C^\b^J\r\n");
  EXPECT_TEXT(reads(w), "\x03\n\n");
}

LINE(without_lines_bytes_are_there_at_once_and_mean_themselves) {
  local(w, 0, K_ICANON | K_ISIG | K_ECHO);
  keys(w, 0, K_ICRNL | K_IXON);
  type(w, "a\x7f\x03\x04\r");
  EXPECT_TEXT(reads(w), "a\x7f\x03\x04\r");
  EXPECT_TEXT(screen(w), "");
}

LINE(typed_input_follows_a_change_of_icanon) {
  type(w, "half");
  local(w, 0, K_ICANON);
  EXPECT_TEXT(read_up_to(w, 2), "ha");
  local(w, K_ICANON, 0);
  EXPECT_TEXT(reads(w), "lf");
  EXPECT_TEXT(reads(w), "EAGAIN");
}

LINE(a_line_that_is_too_long_can_still_be_ended) {
  for (int i = 0; i < 5000; i++) type(w, "x");
  EXPECT_TEXT(reads(w), "EAGAIN");
  type(w, "\n");
  EXPECT_EQ(k_ldisc_read(&w->l, w->text, sizeof w->text), K_LDISC_CAP);
}

LINE(input_waits_when_there_is_no_place_and_lines_to_be_read) {
  type(w, "first\n");
  uint8_t many[2 * K_LDISC_CAP];
  memset(many, 'x', sizeof many);
  size_t taken = k_ldisc_receive(&w->l, many, sizeof many);
  EXPECT(taken < K_LDISC_CAP);
  EXPECT_EQ(k_ldisc_receive(&w->l, many, 1), 0);
  EXPECT_TEXT(reads(w), "first\n");
  EXPECT(k_ldisc_receive(&w->l, many, 1) == 1);
}

LINE(output_becomes_lines_of_a_screen) {
  EXPECT_EQ(k_ldisc_write(&w->l, "a\nb", 3), 3);
  EXPECT_TEXT(screen(w), "a\r\nb");
  k_termios t = w->l.t;
  t.oflag = 0;
  k_ldisc_set(&w->l, &t);
  EXPECT_EQ(k_ldisc_write(&w->l, "a\nb", 3), 3);
  EXPECT_TEXT(screen(w), "a\nb");
}

LINE(stopped_output_holds_what_comes_and_gives_what_was_there) {
  EXPECT_EQ(k_ldisc_write(&w->l, "before", 6), 6);
  type(w, "\x13");
  EXPECT_EQ(k_ldisc_write(&w->l, "after", 5), -K_EAGAIN);
  type(w, "echo");
  EXPECT_TEXT(screen(w), "before");
  EXPECT_TEXT(screen(w), "");
  type(w, "\x11");
  EXPECT_TEXT(screen(w), "echo");
  EXPECT_EQ(k_ldisc_write(&w->l, "after", 5), 5);
}

LINE(unread_output_is_bounded_and_the_echo_still_shows) {
  uint8_t block[4096];
  k_ret n, all = 0;
  memset(block, '\n', sizeof block);
  while ((n = k_ldisc_write(&w->l, block, sizeof block)) > 0) all += n;
  EXPECT_EQ(n, -K_EAGAIN);
  EXPECT(all <= K_LDISC_WRITE_CAP / 2 && all > K_LDISC_WRITE_CAP / 2 - 16);
  size_t before = k_ldisc_shown(&w->l);
  type(w, "echo");
  EXPECT_EQ(k_ldisc_shown(&w->l), before + 4);
  for (int i = 0; i < 5000; i++) type(w, "x\x7f"); /* and is lost at last */
  EXPECT(k_ldisc_shown(&w->l) <= K_LDISC_OUT_CAP);
}

LINE(no_memory_for_output_is_an_error_and_none_for_the_echo_is_not) {
  mem_fail_at(1);
  EXPECT_EQ(k_ldisc_write(&w->l, "x", 1), -K_ENOMEM);
  mem_fail_at(1);
  type(w, "y\n");
  mem_fail_at(0);
  EXPECT_TEXT(reads(w), "y\n");
}

/* ---- whatever comes ---- */

static void still_sound(const k_ldisc *l) {
  uint32_t used = l->head - l->tail, lines = l->line_end - l->tail;
  EXPECT(used <= K_LDISC_CAP);
  EXPECT(lines <= used);
  EXPECT(l->out.len <= K_LDISC_OUT_CAP);
  EXPECT(k_ldisc_shown(l) <= l->out.len);
  EXPECT(k_ldisc_readable(l) <= used);
}

static void scramble_settings(line *w, struct rng *random) {
  k_termios t = w->l.t;
  uint32_t bits[4];
  rng_bytes(random, bits, sizeof bits);
  t.iflag = bits[0] & 0xffff;
  t.oflag = bits[1] & 0xffff;
  t.lflag = bits[2] & 0x3ffff;
  rng_bytes(random, t.cc, sizeof t.cc);
  for (int i = 0; i < K_NCCS; i++) t.cc[i] &= 0x1f; /* so that the keys below hit them */
  k_ldisc_set(&w->l, &t);
}

static void do_something(line *w, struct rng *random) {
  uint8_t bytes[600], what[4];
  rng_bytes(random, what, sizeof what);
  size_t len = (size_t)what[1] * 2;
  rng_bytes(random, bytes, len);
  for (size_t i = 0; (what[2] & 1) != 0 && i < len; i++) bytes[i] &= 0x3f;
  switch (what[0] % 12) {
  case 0: scramble_settings(w, random); break;
  case 1: k_ldisc_flush_input(&w->l); break;
  case 2: k_ldisc_flush_output(&w->l); break;
  case 3: k_ldisc_end_line(&w->l); break;
  case 4: k_ldisc_stop(&w->l, what[2] & 2); break;
  case 5: k_ldisc_start(&w->l, what[2] & 2); break;
  case 6:
  case 7: EXPECT(k_ldisc_write(&w->l, bytes, len) <= (k_ret)len); break;
  case 8: EXPECT(k_ldisc_take(&w->l, w->text, len) <= len); break;
  case 9: {
    size_t there = k_ldisc_readable(&w->l);
    k_ret n = k_ldisc_read(&w->l, w->text, len);
    EXPECT(n <= (k_ret)len && n <= (k_ret)there);
    EXPECT(n >= 0 || n == -K_EAGAIN);
    if (n > 0) EXPECT_EQ(k_ldisc_readable(&w->l), there - (size_t)n);
    break;
  }
  default: EXPECT(k_ldisc_receive(&w->l, bytes, len) <= len);
  }
}

LINE(whatever_is_typed_and_set_it_stays_sound) {
  struct rng random;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    rng_seed_number(&random, seed);
    for (int i = 0; i < 2000; i++) {
      do_something(w, &random);
      still_sound(&w->l);
    }
  }
  mem_fail_at(0);
}

/* Plain text is read as it was typed, however it is cut, and is echoed once. */
LINE(plain_lines_arrive_as_typed_however_they_are_cut) {
  struct rng random;
  rng_seed_number(&random, 7);
  char typed[20000], got[20000], shown[40000];
  size_t in = 0, out = 0, seen = 0;
  while (in < sizeof typed - 100) {
    uint8_t bytes[64], cut[2];
    rng_bytes(&random, bytes, sizeof bytes);
    rng_bytes(&random, cut, sizeof cut);
    size_t len = cut[0] % sizeof bytes + 1;
    for (size_t i = 0; i < len; i++) bytes[i] = bytes[i] < 20 ? '\n' : (uint8_t)('a' + bytes[i] % 26);
    size_t taken = k_ldisc_receive(&w->l, bytes, len);
    memcpy(typed + in, bytes, taken);
    in += taken;
    k_ret n = k_ldisc_read(&w->l, got + out, cut[1]);
    if (n > 0) out += (size_t)n;
    seen += k_ldisc_take(&w->l, shown + seen, sizeof shown - seen);
  }
  k_ldisc_end_line(&w->l);
  for (k_ret n; (n = k_ldisc_read(&w->l, got + out, sizeof got - out)) > 0;) out += (size_t)n;
  EXPECT_EQ(out, in);
  EXPECT_EQ(memcmp(typed, got, in), 0);
  size_t newlines = 0;
  for (size_t i = 0; i < in; i++) newlines += typed[i] == '\n';
  EXPECT_EQ(seen, in + newlines);
}
