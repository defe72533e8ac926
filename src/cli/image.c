/* image.c - `cay image`: interpreters that have already started, as files. */
#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/say.h"

#include <cay/session.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct wanted {
  const char *code, *path, *language, *base;
  const char **packages; /* NULL ended; NULL: none */
  bool install;
} wanted;

static int refuse(const char *why) {
  say("%s", why);
  say_hint("`cay help image` explains");
  return EXIT_USAGE;
}

static double mib(uint64_t bytes) { return (double)bytes / (1 << 20); }

static void image_describe(const char *path, const cay_image *image) {
  uint64_t stored = 0, memory = cay_image_memory(image, &stored);
  printf("%s: %.1f MiB of memory, of which %.1f MiB are not zero\n", path, mib(memory), mib(stored));
}

/* A sandbox whose files the image sees; NULL when there are no packages. */
static cay_status box_of(cay_engine *engine, const wanted *w, cay_sandbox **out, cay_error *err) {
  cay_packages *packages = NULL;
  *out = NULL;
  if (w->packages == NULL) return CAY_OK;
  cay_status status = cay_packages_open(engine, w->packages, &packages, err);
  if (status == CAY_OK)
    status = cay_sandbox_new(engine, &CAY_INIT(cay_sandbox_options, .packages = packages), out, err);
  cay_packages_free(packages);
  return status;
}

static cay_status build(cay_engine *engine, const wanted *w, cay_error *err) {
  cay_image *image = NULL;
  cay_sandbox *box;
  cay_status status = box_of(engine, w, &box, err);
  if (status == CAY_OK)
    status = cay_image_build(
        engine, &CAY_INIT(cay_image_options, .language = w->language, .code = w->code, .box = box), &image,
        err);
  cay_sandbox_free(box);
  if (status != CAY_OK) return status;
  status = w->install ? cay_image_install(image, w->path, err) : cay_image_save(image, w->path, err);
  if (status == CAY_OK) image_describe(w->path, image);
  cay_image_free(image);
  return status;
}

static cay_status info(cay_engine *engine, const wanted *w, cay_error *err) {
  cay_image *image = NULL;
  cay_status status = engine_load_image(engine, w->language, w->path, &image, err);
  if (status == CAY_OK) image_describe(w->path, image);
  cay_image_free(image);
  return status;
}

static int with_engine(cay_status (*act)(cay_engine *engine, const wanted *w, cay_error *err),
                       const wanted *w) {
  cay_error err = { 0 };
  cay_engine *engine = engine_open_image(w->base);
  if (engine == NULL) return EXIT_WRONG;
  cay_status status = act(engine, w, &err);
  cay_engine_free(engine);
  if (status == CAY_OK) return fflush(stdout) == 0 ? 0 : EXIT_WRONG;
  say("%s", err.message);
  return EXIT_WRONG;
}

static int parsed(int argc, char **argv, wanted *w) {
  static const struct option known[] = {
    { "install", no_argument, NULL, 'i' },     { "language", required_argument, NULL, 'l' },
    { "python", no_argument, NULL, 'p' },      { "package", required_argument, NULL, 'w' },
    { "wheel", required_argument, NULL, 'w' }, { "image", required_argument, NULL, 'b' },
    { "help", no_argument, NULL, 'h' },        { NULL, 0, NULL, 0 }
  };
  size_t count = 0;
  optind = 0;
  opterr = 0;
  for (int answer; (answer = getopt_long(argc, argv, "c:h", known, NULL)) != -1;) {
    if (answer == 'h') return help_show("image") ? 0 : EXIT_WRONG;
    if (answer == 'c') w->code = optarg;
    if (answer == 'w') w->packages[count++] = optarg;
    if (answer == 'l') w->language = optarg;
    if (answer == 'b') w->base = optarg;
    if (answer == 'i') w->install = true;
    if (answer == '?')
      return refuse(
          "cay image knows -c CODE, --image NAME, --language NAME, --package PACKAGE, --install and --help");
  }
  if (count == 0) w->packages = NULL;
  if (w->base != NULL && !cay_image_is_name(w->base))
    return refuse("--image wants the name of an installed image, such as science");
  if (argc - optind != 2) return refuse("cay image wants build or info, and one file");
  w->path = argv[optind + 1];
  if (strcmp(argv[optind], "build") == 0) return with_engine(build, w);
  if (strcmp(argv[optind], "info") == 0) return with_engine(info, w);
  return refuse("cay image wants build or info");
}

int command_image(int argc, char **argv) {
  wanted w = { 0 };
  const char **packages = calloc((size_t)argc + 1, sizeof *packages);
  if (packages == NULL) {
    say("out of memory");
    return EXIT_WRONG;
  }
  w.packages = packages;
  int code = parsed(argc, argv, &w);
  free(packages);
  return code;
}
