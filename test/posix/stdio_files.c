/* stdio_files - fopen(3) and its family: modes, positions, ungetc, lines, reading and writing in turn,
 * errors. */
#include "posix.h"

static void refuse(const char *path, const char *mode) {
  errno = 0;
  FILE *f = fopen(path, mode);
  say("fopen(%s, %s): %s\n", path, mode, f != NULL ? "ok" : error_name(errno));
  if (f != NULL) fclose(f);
}

int main(void) {
  refuse("none", "r");
  refuse("none", "r+");
  refuse("new", "w");
  refuse("new", "wx");
  refuse("new", "a+");
  refuse("new", "q");
  refuse(".", "r");
  refuse(".", "w");
  refuse("none/x", "w");

  FILE *f = fopen("f", "w+");
  SAY(fprintf(f, "%s %d\n", "line", 1));
  SAY(fputs("line 2\nlast without end", f) >= 0);
  SAY(ftell(f));
  rewind(f);
  char line[64], *more = NULL;
  size_t cap = 0;
  while (fgets(line, sizeof line, f) != NULL) say("[%s]\n", line);
  IS(feof(f) && !ferror(f));
  SAY(fseek(f, 0, SEEK_SET));
  IS(!feof(f));
  while (getline(&more, &cap, f) >= 0) say("getline %zu\n", strlen(more));
  SAY(fseek(f, -3, SEEK_END));
  SHOW(fgetc(f));
  SHOW(ungetc('Q', f));
  SHOW(fgetc(f));
  SHOW(fgetc(f));
  SHOW(ftell(f));
  SAY(fseek(f, 2, SEEK_SET));
  SAY(fputs("NE", f) >= 0);
  SAY(fflush(f));
  SAY(fseek(f, 0, SEEK_SET));
  IS(fgets(line, sizeof line, f) != NULL);
  TEXT(line);
  SAY(fseek(f, -100, SEEK_SET));
  SAY(fseek(f, 50, SEEK_END));
  SAY(fputc('!', f));
  SAY(fclose(f));
  SAY(file_size("f"));

  f = fopen("f", "a+");
  SAY(fgetc(f));
  fputs("end", f);
  fclose(f);
  SAY(file_size("f"));
  f = fopen("f", "r");
  IS(fputc('x', f) == EOF);
  IS(ferror(f));
  unsigned char bytes[100];
  rewind(f);
  SHOW(fread(bytes, 4, 25, f));
  SHOW(fread(bytes, 1, 25, f));
  IS(feof(f));
  f = freopen("new", "w", f);
  SAY(fwrite("abcdef", 2, 3, f));
  fclose(f);
  get("new");
  f = fdopen(MUST(open("new", O_RDONLY)), "r");
  IS(fscanf(f, "%3s", line) == 1);
  TEXT(line);
  SHOW(fileno(f) > 2);
  fclose(f);
  free(more);
  return 0;
}
