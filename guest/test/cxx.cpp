/* C++ as libc++ has it: exceptions, type information, streams, files, expressions, what there is of threads. */
#include <algorithm>
#include <any>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <format>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <typeinfo>
#include <unordered_map>
#include <variant>
#include <vector>

extern "C" {
#include "check.h"
}

namespace {

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
};
struct Square final : Shape {
  double side = 2;
  double area() const override { return side * side; }
};
struct Circle final : Shape {
  double area() const override { return 3; }
};

struct Counted {
  static inline int alive = 0;
  Counted() { alive++; }
  Counted(const Counted &) { alive++; }
  ~Counted() { alive--; }
};

[[gnu::noinline]] int deep(int n) {
  Counted here;
  if (n == 0) throw std::runtime_error("deep");
  return deep(n - 1) + 1;
}

void exceptions() {
  std::string said;
  try {
    deep(1000);
  } catch (const std::exception &e) {
    said = e.what();
  }
  CHECK(said == "deep" && Counted::alive == 0);

  int code = 0;
  try {
    try {
      throw 7;
    } catch (int n) {
      code = n;
      throw;
    }
  } catch (...) {
    code++;
  }
  CHECK(code == 8);

  std::exception_ptr kept;
  try {
    throw std::out_of_range("kept");
  } catch (...) {
    kept = std::current_exception();
  }
  try {
    std::rethrow_exception(kept);
  } catch (const std::logic_error &e) {
    said = e.what();
  }
  CHECK(said == "kept");

  try {
    try {
      throw std::invalid_argument("inner");
    } catch (...) {
      std::throw_with_nested(std::runtime_error("outer"));
    }
  } catch (const std::exception &e) {
    said = e.what();
    try {
      std::rethrow_if_nested(e);
    } catch (const std::exception &inner) {
      said += inner.what();
    }
  }
  CHECK(said == "outerinner");

  struct Watch {
    int *seen;
    ~Watch() { *seen = std::uncaught_exceptions(); }
  };
  int seen = 0;
  try {
    Watch watch{ &seen };
    throw 1;
  } catch (int) {}
  CHECK(seen == 1);

  bool refused = false;
  try {
    (void)std::vector<char>().at(3);
  } catch (const std::out_of_range &) {
    refused = true;
  }
  CHECK(refused);
  refused = false;
  try {
    void *volatile huge = ::operator new(0x7fff0000);
    ::operator delete(huge);
  } catch (const std::bad_alloc &) {
    refused = true;
  }
  CHECK(refused);
}

void types() {
  std::unique_ptr<Shape> shape = std::make_unique<Square>();
  CHECK(dynamic_cast<Square *>(shape.get()) != nullptr && dynamic_cast<Circle *>(shape.get()) == nullptr);
  const Shape &seen = *shape;
  CHECK(typeid(seen) == typeid(Square) && typeid(seen) != typeid(Circle));
  bool cast = false;
  try {
    (void)dynamic_cast<Circle &>(*shape);
  } catch (const std::bad_cast &) {
    cast = true;
  }
  CHECK(cast);
  std::any any = std::string("any");
  CHECK(std::any_cast<std::string>(any) == "any");
  std::variant<int, std::string> either = "text";
  CHECK(std::visit([](const auto &v) { return sizeof v; }, either) == sizeof(std::string));
  std::shared_ptr<Shape> one = std::move(shape);
  std::weak_ptr<Shape> weak = one;
  CHECK(weak.lock()->area() == 4);
  one.reset();
  CHECK(weak.expired());
}

void streams() {
  std::ostringstream out;
  out << std::hex << std::showbase << 255 << ' ' << std::setprecision(17) << 0.1 << ' ' << std::boolalpha
      << true;
  CHECK(out.str() == "0xff 0.10000000000000001 true");
  std::istringstream in("3 apples 2.5");
  int count = 0;
  std::string what;
  double weight = 0;
  in >> count >> what >> weight;
  CHECK(count == 3 && what == "apples" && weight == 2.5);
  std::wostringstream wide;
  wide << L"w" << 1;
  CHECK(wide.str() == L"w1");
  CHECK(std::format("{:>6.2f}|{:<4}|{:#x}", 3.14159, "ab", 48) == "  3.14|ab  |0x30");
  char digits[32];
  auto written = std::to_chars(digits, digits + sizeof digits, 1e22);
  CHECK(std::string_view(digits, std::size_t(written.ptr - digits)) == "1e+22");
  CHECK(std::stod("1e-3") == 0.001 && std::to_string(-42) == "-42");
}

void files() {
  namespace fs = std::filesystem;
  fs::path dir = fs::temp_directory_path() / "cxx-files";
  fs::remove_all(dir);
  fs::create_directories(dir / "a" / "b");
  std::ofstream(dir / "a" / "one") << "line 1\nline 2\n";
  fs::copy_file(dir / "a" / "one", dir / "a" / "b" / "two");
  fs::create_symlink("one", dir / "a" / "link");
  CHECK(fs::file_size(dir / "a" / "b" / "two") == 14 && fs::is_symlink(dir / "a" / "link"));
  std::vector<std::string> names;
  for (const auto &entry : fs::recursive_directory_iterator(dir)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  CHECK((names == std::vector<std::string>{ "a", "b", "link", "one", "two" }));
  std::ifstream in(dir / "a" / "link");
  std::string first, second;
  std::getline(in, first);
  std::getline(in, second);
  CHECK(second == "line 2");
  bool missing = false;
  try {
    fs::file_size(dir / "none");
  } catch (const fs::filesystem_error &e) {
    missing = e.code() == std::errc::no_such_file_or_directory;
  }
  CHECK(missing && fs::remove_all(dir) == 6);
}

void expressions() {
  std::smatch m;
  std::string text = "2026-11-22 and 1999-01-01";
  CHECK(std::regex_search(text, m, std::regex(R"((\d{4})-(\d\d)-(\d\d))")) && m[1] == "2026" && m[3] == "22");
  CHECK(std::regex_replace(text, std::regex("[0-9]+"), "#") == "#-#-# and #-#-#");
  bool bad = false;
  try {
    std::regex("(");
  } catch (const std::regex_error &) {
    bad = true;
  }
  CHECK(bad);
}

int once_count;
thread_local int own = 5;

void threads() {
  std::mutex mutex;
  { std::lock_guard<std::mutex> held(mutex); }
  std::once_flag flag;
  for (int i = 0; i < 3; i++) std::call_once(flag, [] { once_count++; });
  CHECK(once_count == 1 && own++ == 5 && own == 6);
  std::atomic<long long> counter = 1;
  CHECK(counter.fetch_add(2) == 1 && counter == 3);
  auto before = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(2));
  int ran = 0;
  try {
    std::thread([&ran] { ran = 1; }).join();
  } catch (const std::system_error &e) {
    ran = e.code() == std::errc::resource_unavailable_try_again; /* no thread may be started */
  }
  CHECK(ran == 1);
}

void library() {
  std::vector<int> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(1));
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  CHECK(numbers.front() == 999 && std::accumulate(numbers.begin(), numbers.end(), 0) == 499500);
  std::unordered_map<std::string, int> map;
  for (int i = 0; i < 1000; i++) map[std::to_string(i)] = i;
  CHECK(map.size() == 1000 && map.at("999") == 999);
  std::random_device device;
  CHECK(device() != device() || device() != device());
  std::function<int(int)> factorial = [&](int n) { return n < 2 ? 1 : n * factorial(n - 1); };
  CHECK(factorial(10) == 3628800);
  std::optional<int> none;
  CHECK(none.value_or(3) == 3);
}

struct Global {
  std::string text = "constructed";
  ~Global() { std::cout << "destroyed after main" << std::endl; }
} global;

} // namespace

int main() {
  CHECK(global.text == "constructed");
  exceptions();
  types();
  streams();
  files();
  expressions();
  threads();
  library();
  return CHECKED();
}
