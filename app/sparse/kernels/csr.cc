// Three bilinear CSR kernels as XLA FFI handlers, for float, double and their complex types:
//   csr_mm     Y = A X        csr_tmm     Y = A^T X       csr_sddmm   D[p] = sum_j W[row p, j] X[col p, j]
// A is m x n: values, column indices, row pointer. X, W and Y are vectors or row-major matrices.
// Entries from ptr[m] on are padding: never read, and zero in D. Indices were checked at ingest;
// here only the row pointer's end is. The inner loops (loops.h) are compiled for the platform's
// baseline and for AVX2, and chosen when they run: a library may move to a lesser machine.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

#define INLINE inline __attribute__((always_inline))

namespace {

// No NaN recovery as in std::complex, whose product is a function call; JAX does none either.
template <class R>
struct Complex {
  R re, im;
  INLINE Complex operator*(Complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
  INLINE Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
  INLINE Complex& operator+=(Complex o) { re += o.re; im += o.im; return *this; }
};
using c64 = Complex<float>;
using c128 = Complex<double>;

}  // namespace

#define TARGET
namespace baseline {
#include "loops.h"
}
#undef TARGET
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
namespace avx2 {
#include "loops.h"
}
#undef TARGET
static bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#define LOOPS(CALL) (has_avx2() ? avx2::CALL : baseline::CALL)
#else
#define LOOPS(CALL) baseline::CALL
#endif

namespace {

constexpr int64_t kWorkPerThread = 2000000;  // multiply-adds: on a busy machine less does not pay

// Runs f(0) ... f(blocks - 1), each once. The caller waits for claimed blocks only, never for a
// helper to start, so a full or nested pool cannot deadlock; the state outlives the call.
template <class F>
void in_blocks(ffi::ThreadPool& pool, int64_t threads, int64_t blocks, F f) {
  struct State {
    std::atomic<int64_t> next{0};
    int64_t blocks, done = 0;
    std::mutex mutex;
    std::condition_variable all;
    F f;
    State(int64_t blocks, F f) : blocks(blocks), f(std::move(f)) {}
    void work() {
      int64_t count = 0;
      for (int64_t b; (b = next.fetch_add(1)) < blocks; ++count) f(b);
      if (!count) return;
      std::lock_guard<std::mutex> lock(mutex);
      if ((done += count) == blocks) all.notify_all();
    }
  };
  auto state = std::make_shared<State>(blocks, std::move(f));
  for (int64_t t = 1; t < threads; ++t) pool.Schedule([state] { state->work(); });
  state->work();
  std::unique_lock<std::mutex> lock(state->mutex);
  state->all.wait(lock, [&] { return state->done == state->blocks; });
}

int64_t threads_for(ffi::ThreadPool& pool, int64_t work) {
  return std::min<int64_t>(pool.num_threads(), work / kWorkPerThread + 1);
}

// The first row of block b of `blocks`, so that blocks hold about as many entries and rows each.
int64_t border(const int32_t* ptr, int64_t m, int64_t b, int64_t blocks) {
  const int64_t target = (int64_t{ptr[m]} + m) / blocks * b;
  int64_t low = 0, high = b >= blocks ? 0 : m;
  if (b >= blocks) return m;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (ptr[middle] + middle < target) low = middle + 1;
    else high = middle;
  }
  return low;
}

template <class F>
void by_rows(ffi::ThreadPool& pool, const int32_t* ptr, int64_t m, int64_t work, F f) {
  const int64_t threads = threads_for(pool, work);
  if (threads <= 1) return f(0, m);
  const int64_t blocks = threads * 4;
  in_blocks(pool, threads, blocks, [=](int64_t b) {
    f(border(ptr, m, b, blocks), border(ptr, m, b + 1, blocks));
  });
}

template <class T>
void run_mm(ffi::ThreadPool& pool, const T* a, const int32_t* ix, const int32_t* ptr, const T* X, T* Y,
            int64_t m, int64_t n, int64_t k, int64_t capacity) {
  by_rows(pool, ptr, m, ptr[m] * k, [=](int64_t r0, int64_t r1) {
    LOOPS(mm(a, ix, ptr, X, Y, r0, r1, k));
  });
}

// Rows of A scatter over all of Y. With many columns each thread takes its own; with few, each
// adds into a copy of Y, which pays where a row of Y is hit often: with ten entries a column, two
// threads took up to twice the time of one.
template <class T>
void run_tmm(ffi::ThreadPool& pool, const T* a, const int32_t* ix, const int32_t* ptr, const T* X, T* Y,
             int64_t m, int64_t n, int64_t k, int64_t capacity) {
  std::memset(static_cast<void*>(Y), 0, n * k * sizeof(T));
  const int64_t nnz = ptr[m], line = 64 / sizeof(T);
  int64_t threads = threads_for(pool, nnz * k);
  if (k >= 2 * line) {
    threads = std::min(threads, k / line);
    const int64_t width = (k / line + threads - 1) / threads * line;
    in_blocks(pool, threads, threads, [=](int64_t b) {
      LOOPS(tmm(a, ix, ptr, X, Y, 0, m, k, b * width, b + 1 == threads ? k : (b + 1) * width));
    });
    return;
  }
  threads = std::min<int64_t>(threads, n ? nnz / (8 * n) : 1);
  if (threads <= 1) {
    LOOPS(tmm(a, ix, ptr, X, Y, 0, m, k, 0, k));
    return;
  }
  std::vector<T> copies((threads - 1) * n * k, T{});
  T* spare = copies.data();
  in_blocks(pool, threads, threads, [=](int64_t b) {
    T* into = b ? spare + (b - 1) * n * k : Y;
    LOOPS(tmm(a, ix, ptr, X, into, border(ptr, m, b, threads), border(ptr, m, b + 1, threads), k, 0, k));
  });
  in_blocks(pool, threads, threads, [=](int64_t b) {
    const int64_t start = n * k * b / threads, end = n * k * (b + 1) / threads;
    for (int64_t c = 0; c + 1 < threads; ++c)
      LOOPS(add(Y + start, spare + c * n * k + start, end - start));
  });
}

template <class T>
void run_sddmm(ffi::ThreadPool& pool, const T* W, const int32_t* ix, const int32_t* ptr, const T* X, T* D,
               int64_t m, int64_t n, int64_t k, int64_t capacity) {
  std::memset(static_cast<void*>(D + ptr[m]), 0, (capacity - ptr[m]) * sizeof(T));
  by_rows(pool, ptr, m, ptr[m] * k, [=](int64_t r0, int64_t r1) {
    LOOPS(sddmm(W, ix, ptr, X, D, r0, r1, k));
  });
}

// A large result is fresh memory: in large pages it takes a hundredth of the page faults, which
// otherwise cost as much as the product. NumPy does the same for arrays of 4 MiB or more.
void advise(void* data, int64_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr uintptr_t kPage = 4096;
  if (bytes < int64_t{1} << 22) return;
  const uintptr_t start = (reinterpret_cast<uintptr_t>(data) + kPage - 1) & ~(kPage - 1);
  madvise(reinterpret_cast<void*>(start), bytes - (start - reinterpret_cast<uintptr_t>(data)), MADV_HUGEPAGE);
#endif
}

using Indices = ffi::BufferR1<ffi::S32>;

#define HANDLER(NAME, RUN)                                                                             \
  ffi::Error NAME(ffi::ThreadPool pool, int64_t n, ffi::AnyBuffer a, Indices ix, Indices ptr,          \
                  ffi::AnyBuffer X, ffi::Result<ffi::AnyBuffer> out) {                                 \
    const int64_t m = static_cast<int64_t>(ptr.element_count()) - 1, capacity = ix.element_count();    \
    const auto sizes = X.dimensions();                                                                 \
    const int64_t k = sizes.size() == 2 ? sizes[1] : 1;                                                \
    const int32_t* p = ptr.typed_data();                                                               \
    if (m < 0 || p[0] != 0 || p[m] < 0 || p[m] > capacity || X.element_type() != a.element_type())     \
      return ffi::Error::InvalidArgument(#NAME ": the row pointer or a type does not fit");            \
    switch (a.element_type()) {                                                                        \
      case ffi::F32: return call<float>(RUN<float>, pool, a, ix, p, X, out, m, n, k, capacity);        \
      case ffi::F64: return call<double>(RUN<double>, pool, a, ix, p, X, out, m, n, k, capacity);      \
      case ffi::C64: return call<c64>(RUN<c64>, pool, a, ix, p, X, out, m, n, k, capacity);            \
      case ffi::C128: return call<c128>(RUN<c128>, pool, a, ix, p, X, out, m, n, k, capacity);         \
      default: return ffi::Error::InvalidArgument(#NAME ": only float and complex");                   \
    }                                                                                                  \
  }                                                                                                    \
  }                                                                                                    \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(gradserve_##NAME, NAME,                                                \
                                ffi::Ffi::Bind()                                                       \
                                    .Ctx<ffi::ThreadPool>()                                            \
                                    .Attr<int64_t>("n")                                                \
                                    .Arg<ffi::AnyBuffer>()                                             \
                                    .Arg<Indices>()                                                    \
                                    .Arg<Indices>()                                                    \
                                    .Arg<ffi::AnyBuffer>()                                             \
                                    .Ret<ffi::AnyBuffer>());                                           \
  namespace {

template <class T, class Run>
ffi::Error call(Run run, ffi::ThreadPool& pool, ffi::AnyBuffer& a, Indices& ix, const int32_t* ptr,
                ffi::AnyBuffer& X, ffi::Result<ffi::AnyBuffer>& out, int64_t m, int64_t n, int64_t k,
                int64_t capacity) {
  advise(out->untyped_data(), out->size_bytes());
  run(pool, reinterpret_cast<const T*>(a.untyped_data()), ix.typed_data(), ptr,
      reinterpret_cast<const T*>(X.untyped_data()), reinterpret_cast<T*>(out->untyped_data()), m, n, k,
      capacity);
  return ffi::Error::Success();
}

HANDLER(csr_mm, run_mm)
HANDLER(csr_tmm, run_tmm)
HANDLER(csr_sddmm, run_sddmm)

}  // namespace
