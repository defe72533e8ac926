// header.cpp - the header in C++: declare the options, set their size and the fields wanted.
//
//   c++ header.cpp -lcay -o header && ./header
//
// It prints:
//   hello from C++
#include <cay/cay.h>

#include <cstdio>
#include <memory>

struct Free {
  void operator()(cay_engine *engine) const { cay_engine_free(engine); }
  void operator()(cay_sandbox *box) const { cay_sandbox_free(box); }
  void operator()(cay_result *result) const { cay_result_free(result); }
};
template <class T> using owned = std::unique_ptr<T, Free>;

int main() {
  cay_error err{};
  cay_engine *engine_made = nullptr;
  if (cay_engine_new(nullptr, &engine_made, &err) != CAY_OK)
    return std::fprintf(stderr, "%s\n", err.message), 1;
  owned<cay_engine> engine(engine_made);

  cay_sandbox *box_made = nullptr;
  if (cay_sandbox_new(engine.get(), nullptr, &box_made, &err) != CAY_OK)
    return std::fprintf(stderr, "%s\n", err.message), 1;
  owned<cay_sandbox> box(box_made);

  cay_run_options options{};
  options.size = sizeof options;
  options.command = "echo hello from C++";
  cay_result *result_made = nullptr;
  if (cay_run(box.get(), &options, &result_made, &err) != CAY_OK)
    return std::fprintf(stderr, "%s\n", err.message), 1;
  owned<cay_result> result(result_made);
  std::printf("%.*s", static_cast<int>(result->out.len), static_cast<const char *>(result->out.data));
  return cay_result_exit_code(result.get());
}
