/* termios.h - how a terminal is set up (termios(3), the values of asm-generic Linux, which are the guest's). */
#pragma once

#include <stdint.h>

enum { /* c_iflag */
       K_PARMRK = 010,
       K_ISTRIP = 040,
       K_INLCR = 0100,
       K_IGNCR = 0200,
       K_ICRNL = 0400,
       K_IUCLC = 01000,
       K_IXON = 02000,
       K_IXANY = 04000,
       K_IMAXBEL = 020000,
       K_IUTF8 = 040000,
};
enum { /* c_oflag */
       K_OPOST = 01,
       K_OLCUC = 02,
       K_ONLCR = 04,
       K_OCRNL = 010,
       K_ONOCR = 020,
       K_ONLRET = 040,
       K_TABDLY = 014000,
       K_XTABS = 014000,
};
enum { /* c_cflag */
       K_B38400 = 017,
       K_CSIZE = 060,
       K_CS8 = 060,
       K_CREAD = 0200,
       K_PARENB = 0400,
};
enum { /* c_lflag */
       K_ISIG = 01,
       K_ICANON = 02,
       K_ECHO = 010,
       K_ECHOE = 020,
       K_ECHOK = 040,
       K_ECHONL = 0100,
       K_NOFLSH = 0200,
       K_TOSTOP = 0400,
       K_ECHOCTL = 01000,
       K_ECHOPRT = 02000,
       K_ECHOKE = 04000,
       K_IEXTEN = 0100000,
       K_EXTPROC = 0200000,
};
enum { /* of c_cc */
       K_VINTR,
       K_VQUIT,
       K_VERASE,
       K_VKILL,
       K_VEOF,
       K_VTIME,
       K_VMIN,
       K_VSWTC,
       K_VSTART,
       K_VSTOP,
       K_VSUSP,
       K_VEOL,
       K_VREPRINT,
       K_VDISCARD,
       K_VWERASE,
       K_VLNEXT,
       K_VEOL2,
       K_NCCS = 19,
};

/* As ioctl(2) passes it. */
typedef struct k_termios {
  uint32_t iflag, oflag, cflag, lflag;
  uint8_t line;
  uint8_t cc[K_NCCS]; /* 0: there is no such character */
} k_termios;
_Static_assert(sizeof(k_termios) == 36, "the struct termios of the kernel's interface");

typedef struct k_winsize {
  uint16_t rows, cols, width, height; /* characters, pixels */
} k_winsize;
_Static_assert(sizeof(k_winsize) == 8, "the struct winsize of the kernel's interface");
