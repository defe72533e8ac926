/* stdio_memory - fmemopen(3), open_memstream(3), tmpfile(3), asprintf(3). */
#include "posix.h"

int main(void) {
  char *text = NULL;
  size_t len = 0;
  FILE *f = open_memstream(&text, &len);
  for (int i = 0; i < 1000; i++) fprintf(f, "%d,", i);
  SAY(fflush(f));
  SHOW(len);
  say("%.20s\n", text);
  SAY(fclose(f));
  free(text);

  char buffer[] = "first second 42";
  f = fmemopen(buffer, strlen(buffer), "r");
  char a[16], b[16];
  int n;
  SHOW(fscanf(f, "%15s %15s %d", a, b, &n));
  say("%s|%s|%d\n", a, b, n);
  fclose(f);
  char out[16] = "################";
  f = fmemopen(out, 10, "w");
  fputs("written", f);
  fclose(f);
  TEXT(out);

  f = tmpfile();
  IS(f != NULL);
  fputs("temporary", f);
  rewind(f);
  IS(fgets(a, sizeof a, f) != NULL);
  TEXT(a);
  struct stat st;
  MUST(fstat(fileno(f), &st));
  SHOW(st.st_nlink);
  fclose(f);
  SHOW(asprintf(&text, "%s-%05d", "made", 42));
  TEXT(text);
  free(text);
  return 0;
}
