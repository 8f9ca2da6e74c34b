// Three bilinear CSR kernels as XLA FFI handlers, for float, double and their complex types:
//   csr_mm     Y = A X        csr_tmm     Y = A^T X       csr_sddmm   D[p] = sum_j W[row p, j] X[col p, j]
// A is m x n: values, column indices, row pointer. X, W and Y are vectors or row-major matrices.
// Entries from ptr[m] on are padding: never read, and zero in D. Indices were checked at ingest;
// here only the row pointer's end is. Inner loops are compiled for several instruction sets and
// chosen at load; nothing needs more than the platform's baseline.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(GRADSERVE_ONE_VERSION)
#define MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MULTIVERSION
#endif
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

template <class T>
INLINE T dot_row(const T* a, const int32_t* ix, const T* x, int32_t p, int32_t end) {
  T s{};
  if (end - p >= 8) {
    T s0{}, s1{}, s2{}, s3{};
    for (; p + 4 <= end; p += 4) {
      s0 += a[p] * x[ix[p]];
      s1 += a[p + 1] * x[ix[p + 1]];
      s2 += a[p + 2] * x[ix[p + 2]];
      s3 += a[p + 3] * x[ix[p + 3]];
    }
    s = (s0 + s1) + (s2 + s3);
  }
  for (; p < end; ++p) s += a[p] * x[ix[p]];
  return s;
}

// One tile of columns of a row of Y, kept in registers over the row's entries.
template <class T, int K>
INLINE void tile(const T* a, const int32_t* ix, const T* X, T* y, int64_t k, int32_t p, int32_t end) {
  T acc[K] = {};
  for (; p < end; ++p) {
    const T v = a[p];
    const T* x = X + int64_t{ix[p]} * k;
    for (int j = 0; j < K; ++j) acc[j] += v * x[j];
  }
  for (int j = 0; j < K; ++j) y[j] = acc[j];
}

template <class T>
INLINE void mm_rows(const T* a, const int32_t* ix, const int32_t* ptr, const T* X, T* Y, int64_t r0,
                    int64_t r1, int64_t k) {
  if (k == 1) {
    for (int64_t i = r0; i < r1; ++i) Y[i] = dot_row(a, ix, X, ptr[i], ptr[i + 1]);
    return;
  }
  constexpr int kWide = 128 / sizeof(T), kSmall = 32 / sizeof(T);
  for (int64_t i = r0; i < r1; ++i) {
    T* y = Y + i * k;
    int64_t j = 0;
    for (; j + kWide <= k; j += kWide) tile<T, kWide>(a, ix, X + j, y + j, k, ptr[i], ptr[i + 1]);
    for (; j + kSmall <= k; j += kSmall) tile<T, kSmall>(a, ix, X + j, y + j, k, ptr[i], ptr[i + 1]);
    for (; j < k; ++j) tile<T, 1>(a, ix, X + j, y + j, k, ptr[i], ptr[i + 1]);
  }
}

// Columns j0 ... j1 of rows r0 ... r1, added into Y, whose rows hold k columns.
template <class T>
INLINE void tmm_rows(const T* __restrict a, const int32_t* __restrict ix,
                     const int32_t* __restrict ptr, const T* __restrict X, T* __restrict Y,
                     int64_t r0, int64_t r1, int64_t k, int64_t j0, int64_t j1) {
  for (int64_t i = r0; i < r1; ++i) {
    const int32_t end = ptr[i + 1];
    if (k == 1) {
      const T v = X[i];
      for (int32_t p = ptr[i]; p < end; ++p) Y[ix[p]] += a[p] * v;
    } else {
      const T* x = X + i * k;
      for (int32_t p = ptr[i]; p < end; ++p) {
        const T v = a[p];
        T* y = Y + int64_t{ix[p]} * k;
        constexpr int kSmall = 32 / sizeof(T);
        int64_t j = j0;
        for (; j + kSmall <= j1; j += kSmall)
          for (int l = 0; l < kSmall; ++l) y[j + l] += v * x[j + l];
        for (; j < j1; ++j) y[j] += v * x[j];
      }
    }
  }
}

template <class T>
INLINE void sddmm_rows(const T* W, const int32_t* ix, const int32_t* ptr, const T* X, T* D, int64_t r0,
                       int64_t r1, int64_t k) {
  for (int64_t i = r0; i < r1; ++i) {
    const int32_t end = ptr[i + 1];
    const T* w = W + i * k;
    if (k == 1) {
      for (int32_t p = ptr[i]; p < end; ++p) D[p] = w[0] * X[ix[p]];
    } else {
      for (int32_t p = ptr[i]; p < end; ++p) {
        const T* x = X + int64_t{ix[p]} * k;
        constexpr int kLanes = 64 / sizeof(T);
        T acc[kLanes] = {};
        int64_t j = 0;
        for (; j + kLanes <= k; j += kLanes)
          for (int l = 0; l < kLanes; ++l) acc[l] += w[j + l] * x[j + l];
        T s{};
        for (int l = 0; l < kLanes; ++l) s += acc[l];
        for (; j < k; ++j) s += w[j] * x[j];
        D[p] = s;
      }
    }
  }
}

}  // namespace

// Multiversioned functions may not be templates, so each type has its own, overloaded by name.
#define INSTANCE(T)                                                                                    \
  MULTIVERSION void mm(const T* a, const int32_t* ix, const int32_t* ptr, const T* X, T* Y,            \
                       int64_t r0, int64_t r1, int64_t k) {                                            \
    mm_rows(a, ix, ptr, X, Y, r0, r1, k);                                                              \
  }                                                                                                    \
  MULTIVERSION void tmm(const T* a, const int32_t* ix, const int32_t* ptr, const T* X, T* Y,           \
                        int64_t r0, int64_t r1, int64_t k, int64_t j0, int64_t j1) {                   \
    tmm_rows(a, ix, ptr, X, Y, r0, r1, k, j0, j1);                                                     \
  }                                                                                                    \
  MULTIVERSION void sddmm(const T* W, const int32_t* ix, const int32_t* ptr, const T* X, T* D,         \
                          int64_t r0, int64_t r1, int64_t k) {                                         \
    sddmm_rows(W, ix, ptr, X, D, r0, r1, k);                                                           \
  }
namespace gradserve {
INSTANCE(float)
INSTANCE(double)
INSTANCE(c64)
INSTANCE(c128)
}  // namespace gradserve

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
    gradserve::mm(a, ix, ptr, X, Y, r0, r1, k);
  });
}

// Rows of A scatter over all of Y. With many columns each thread takes its own; with one, each
// adds into a copy of Y, which pays while a row of Y is hit often enough.
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
      gradserve::tmm(a, ix, ptr, X, Y, 0, m, k, b * width, b + 1 == threads ? k : (b + 1) * width);
    });
    return;
  }
  threads = std::min<int64_t>(threads, n ? nnz / (2 * n) : 1);
  if (threads <= 1) {
    gradserve::tmm(a, ix, ptr, X, Y, 0, m, k, 0, k);
    return;
  }
  std::vector<T> copies((threads - 1) * n * k, T{});
  T* spare = copies.data();
  in_blocks(pool, threads, threads, [=](int64_t b) {
    T* into = b ? spare + (b - 1) * n * k : Y;
    gradserve::tmm(a, ix, ptr, X, into, border(ptr, m, b, threads), border(ptr, m, b + 1, threads), k, 0, k);
  });
  in_blocks(pool, threads, threads, [=](int64_t b) {
    for (int64_t c = 0; c + 1 < threads; ++c)
      for (int64_t i = n * k * b / threads; i < n * k * (b + 1) / threads; ++i) Y[i] += spare[c * n * k + i];
  });
}

template <class T>
void run_sddmm(ffi::ThreadPool& pool, const T* W, const int32_t* ix, const int32_t* ptr, const T* X, T* D,
               int64_t m, int64_t n, int64_t k, int64_t capacity) {
  std::memset(static_cast<void*>(D + ptr[m]), 0, (capacity - ptr[m]) * sizeof(T));
  by_rows(pool, ptr, m, ptr[m] * k, [=](int64_t r0, int64_t r1) {
    gradserve::sddmm(W, ix, ptr, X, D, r0, r1, k);
  });
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
  run(pool, reinterpret_cast<const T*>(a.untyped_data()), ix.typed_data(), ptr,
      reinterpret_cast<const T*>(X.untyped_data()), reinterpret_cast<T*>(out->untyped_data()), m, n, k,
      capacity);
  return ffi::Error::Success();
}

HANDLER(csr_mm, run_mm)
HANDLER(csr_tmm, run_tmm)
HANDLER(csr_sddmm, run_sddmm)

}  // namespace
