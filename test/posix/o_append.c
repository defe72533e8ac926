/* o_append - open(2): with O_APPEND every write goes to the end, whichever process writes and wherever the offset
 * is. */
#include "posix.h"

int main(void) {
  put("log", "start\n");
  int a = MUST(open("log", O_WRONLY | O_APPEND));
  int b = MUST(open("log", O_RDWR | O_APPEND));
  SAY(lseek(a, 0, SEEK_CUR));
  SAY(write(a, "from a\n", 7));
  SAY(lseek(a, 0, SEEK_CUR));
  SAY(write(b, "from b\n", 7));
  SAY(lseek(a, 0, SEEK_SET));
  SAY(write(a, "again a\n", 8));
  SAY(lseek(a, 0, SEEK_CUR));
  get("log");
  char text[6] = "";
  SAY(lseek(b, 0, SEEK_SET));
  SAY(read(b, text, 5));
  TEXT(text);
  SAY(pwrite(b, "P", 1, 0)); /* pwrite(2), BUGS: on Linux it appends all the same */
  SAY(file_size("log"));

  SAY(fcntl(a, F_SETFL, 0));
  SAY(lseek(a, 0, SEEK_SET));
  SAY(write(a, "START", 5));
  SAY(fcntl(a, F_SETFL, O_APPEND));
  SAY(write(a, "!", 1));
  get("log");

  put("shared", "");
  for (int i = 0; i < 3; i++) {
    if (MUST(fork()) == 0) {
      int fd = MUST(open("shared", O_WRONLY | O_APPEND));
      for (int k = 0; k < 100; k++) MUST(write(fd, "0123456789", 10));
      _exit(0);
    }
  }
  while (wait(NULL) > 0) {}
  SAY(file_size("shared"));
  return 0;
}
