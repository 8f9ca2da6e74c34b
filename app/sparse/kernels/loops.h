// The inner loops of csr.cc, which includes this file once for each instruction set, inside a
// namespace and with TARGET set to its attribute; so there are no includes and no guard here.
// Vectors are of 32 bytes whatever the set: a narrower one takes two or four steps for each.

template <class T>
struct Vectors {
  static constexpr bool kHas = false;
};
#define VECTORS(T)                                                                    \
  template <>                                                                         \
  struct Vectors<T> {                                                                 \
    static constexpr bool kHas = true;                                                \
    static constexpr int64_t kLanes = 32 / sizeof(T);                                 \
    typedef T Type __attribute__((vector_size(32), aligned(alignof(T)), may_alias));  \
  };
VECTORS(float)
VECTORS(double)
#undef VECTORS

// Four sums hide the latency of adding; in a short row the next rows hide it, and splitting costs.
template <class T>
TARGET INLINE T dot_row(const T* a, const int32_t* ix, const T* x, int32_t p, int32_t end) {
  T s{};
  if (end - p >= 24) {
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

// W vectors of columns of a row of Y, kept in registers over the row's entries.
template <class T, int W>
TARGET INLINE void tile(const T* a, const int32_t* ix, const T* X, T* y, int64_t k, int32_t p,
                        int32_t end) {
  using V = typename Vectors<T>::Type;
  constexpr int64_t L = Vectors<T>::kLanes;
  V acc[W];
#pragma GCC unroll 8
  for (int w = 0; w < W; ++w) acc[w] = V{};
  for (; p < end; ++p) {
    const T v = a[p];
    const T* x = X + int64_t{ix[p]} * k;
#pragma GCC unroll 8
    for (int w = 0; w < W; ++w) acc[w] += v * *reinterpret_cast<const V*>(x + w * L);
  }
#pragma GCC unroll 8
  for (int w = 0; w < W; ++w) *reinterpret_cast<V*>(y + w * L) = acc[w];
}

// One row of Y = A X for k columns. The last vector may overlap the one before it: the columns
// that both hold are computed alike.
template <class T>
TARGET INLINE void wide_row(const T* a, const int32_t* ix, const T* X, T* y, int64_t k, int32_t p,
                            int32_t end) {
  constexpr int64_t L = Vectors<T>::kLanes;
  int64_t j = 0;
  for (; j + 8 * L <= k; j += 8 * L) tile<T, 8>(a, ix, X + j, y + j, k, p, end);
  if (j + 4 * L <= k) tile<T, 4>(a, ix, X + j, y + j, k, p, end), j += 4 * L;
  if (j + 2 * L <= k) tile<T, 2>(a, ix, X + j, y + j, k, p, end), j += 2 * L;
  if (j + L <= k) tile<T, 1>(a, ix, X + j, y + j, k, p, end), j += L;
  if (j < k) tile<T, 1>(a, ix, X + k - L, y + k - L, k, p, end);
}

template <class T, int K>
TARGET INLINE void narrow_tile(const T* a, const int32_t* ix, const T* X, T* y, int64_t k, int32_t p,
                               int32_t end) {
  T acc[K] = {};
  for (; p < end; ++p) {
    const T v = a[p];
    const T* x = X + int64_t{ix[p]} * k;
    for (int j = 0; j < K; ++j) acc[j] += v * x[j];
  }
  for (int j = 0; j < K; ++j) y[j] = acc[j];
}

// The same for types without vectors and for fewer columns than a vector holds.
template <class T>
TARGET INLINE void narrow_row(const T* a, const int32_t* ix, const T* X, T* y, int64_t k, int32_t p,
                              int32_t end) {
  int64_t j = 0;
  for (; j + 4 <= k; j += 4) narrow_tile<T, 4>(a, ix, X + j, y + j, k, p, end);
  if (j + 2 <= k) narrow_tile<T, 2>(a, ix, X + j, y + j, k, p, end), j += 2;
  if (j < k) narrow_tile<T, 1>(a, ix, X + j, y + j, k, p, end);
}

// y[0 ... width) += v x[0 ... width)
template <class T>
TARGET INLINE void add_scaled(T* __restrict y, T v, const T* __restrict x, int64_t width) {
  int64_t j = 0;
  if constexpr (Vectors<T>::kHas) {
    using V = typename Vectors<T>::Type;
    constexpr int64_t L = Vectors<T>::kLanes;
    for (; j + L <= width; j += L)
      *reinterpret_cast<V*>(y + j) += v * *reinterpret_cast<const V*>(x + j);
  }
  for (; j < width; ++j) y[j] += v * x[j];
}

// y[0 ... count) += x[0 ... count)
template <class T>
TARGET void add(T* __restrict y, const T* __restrict x, int64_t count) {
  int64_t j = 0;
  if constexpr (Vectors<T>::kHas) {
    using V = typename Vectors<T>::Type;
    constexpr int64_t L = Vectors<T>::kLanes;
    for (; j + L <= count; j += L)
      *reinterpret_cast<V*>(y + j) += *reinterpret_cast<const V*>(x + j);
  }
  for (; j < count; ++j) y[j] += x[j];
}

template <class T>
TARGET INLINE T dot(const T* w, const T* x, int64_t k) {
  T s{};
  int64_t j = 0;
  if constexpr (Vectors<T>::kHas) {
    using V = typename Vectors<T>::Type;
    constexpr int64_t L = Vectors<T>::kLanes;
    V even{}, odd{};
    for (; j + 2 * L <= k; j += 2 * L) {
      even += *reinterpret_cast<const V*>(w + j) * *reinterpret_cast<const V*>(x + j);
      odd += *reinterpret_cast<const V*>(w + j + L) * *reinterpret_cast<const V*>(x + j + L);
    }
    even += odd;
    for (int64_t l = 0; l < L; ++l) s += even[l];
  }
  for (; j < k; ++j) s += w[j] * x[j];
  return s;
}

// Rows r0 ... r1 of Y = A X.
template <class T>
TARGET void mm(const T* a, const int32_t* ix, const int32_t* ptr, const T* X, T* Y, int64_t r0,
               int64_t r1, int64_t k) {
  if (k == 1) {
    for (int64_t i = r0; i < r1; ++i) Y[i] = dot_row(a, ix, X, ptr[i], ptr[i + 1]);
    return;
  }
  if constexpr (Vectors<T>::kHas) {
    if (k >= Vectors<T>::kLanes) {
      for (int64_t i = r0; i < r1; ++i) wide_row(a, ix, X, Y + i * k, k, ptr[i], ptr[i + 1]);
      return;
    }
  }
  for (int64_t i = r0; i < r1; ++i) narrow_row(a, ix, X, Y + i * k, k, ptr[i], ptr[i + 1]);
}

// Columns j0 ... j1 of rows r0 ... r1 of X scattered: Y += A^T X, rows of k columns.
template <class T>
TARGET void tmm(const T* a, const int32_t* ix, const int32_t* ptr, const T* X, T* Y, int64_t r0,
                int64_t r1, int64_t k, int64_t j0, int64_t j1) {
  for (int64_t i = r0; i < r1; ++i) {
    const int32_t end = ptr[i + 1];
    if (k == 1) {
      const T v = X[i];
      for (int32_t p = ptr[i]; p < end; ++p) Y[ix[p]] += a[p] * v;
    } else {
      const T* x = X + i * k + j0;
      for (int32_t p = ptr[i]; p < end; ++p) add_scaled(Y + int64_t{ix[p]} * k + j0, a[p], x, j1 - j0);
    }
  }
}

// D[p] = W[row p] . X[col p] for the entries of rows r0 ... r1.
template <class T>
TARGET void sddmm(const T* W, const int32_t* ix, const int32_t* ptr, const T* X, T* D, int64_t r0,
                  int64_t r1, int64_t k) {
  for (int64_t i = r0; i < r1; ++i) {
    const int32_t end = ptr[i + 1];
    const T* w = W + i * k;
    if (k == 1) {
      for (int32_t p = ptr[i]; p < end; ++p) D[p] = w[0] * X[ix[p]];
    } else {
      for (int32_t p = ptr[i]; p < end; ++p) D[p] = dot(w, X + int64_t{ix[p]} * k, k);
    }
  }
}
