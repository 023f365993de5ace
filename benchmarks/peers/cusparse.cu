// cuSPARSE's products of a CSR matrix and a vector, for benchmarks/spmv.py: the default algorithm and ALG2, each with and without
// preprocessing. A shared library, built by cuda.py beside this file; libcusparse is opened by its path, no header of it is needed.
// Every function returns null, or what went wrong.
#include "timing.cuh"
#include <dlfcn.h>
#include <cmath>
#include <cstdint>

using Handle = void*;
using Product = int(Handle, int, const void*, void*, void*, const void*, void*, int, int, void*);
static int (*create)(Handle*);
static int (*create_csr)(void**, int64_t, int64_t, int64_t, void*, void*, void*, int, int, int, int);
static int (*create_vector)(void**, int64_t, void*, int);
static int (*destroy_matrix)(void*);
static int (*destroy_vector)(void*);
static int (*buffer_size)(Handle, int, const void*, void*, void*, const void*, void*, int, int, size_t*);
static Product *preprocess, *product;
static Handle handle;
constexpr int NO_TRANSPOSE = 0, INT32 = 2, FLOAT32 = 0, DEFAULT = 0, ALG2 = 3;  // values of its enumerations since 11.4

static void expect(int status, const char* what) {
  if (status) throw std::runtime_error(std::string(what) + " gave status " + std::to_string(status));
}

template <class F>
static void find(void* library, const char* name, F& function, bool needed = true) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (needed && !function) throw std::runtime_error(std::string("the library has no ") + name);
}

extern "C" const char* open_library(const char* path) {
  return guarded([&] {
    void* library = dlopen(path, RTLD_NOW);
    if (!library) throw std::runtime_error(dlerror());
    find(library, "cusparseCreate", create);
    find(library, "cusparseCreateCsr", create_csr);
    find(library, "cusparseCreateDnVec", create_vector);
    find(library, "cusparseDestroySpMat", destroy_matrix);
    find(library, "cusparseDestroyDnVec", destroy_vector);
    find(library, "cusparseSpMV_bufferSize", buffer_size);
    find(library, "cusparseSpMV", product);
    find(library, "cusparseSpMV_preprocess", preprocess, false);  // since 12.4
    expect(create(&handle), "cusparseCreate");
  });
}

struct Described {  // a matrix and two vectors; of its own for every variant, since preprocessing leaves its marks there
  void *matrix = nullptr, *x = nullptr, *y = nullptr;
  ~Described() {
    if (matrix) destroy_matrix(matrix);
    if (x) destroy_vector(x);
    if (y) destroy_vector(y);
  }
};

// y: 4 times `rows`; ms: 4 numbers, NaN where a variant is missing. Variants: default, default + preprocess, ALG2, ALG2 + preprocess.
extern "C" const char* products(
  long long rows, long long cols, long long count, const int* offsets, const int* columns, const float* values, const float* x,
  float* y, double* ms) {
  return guarded([&] {
    Array<int> begins(rows + 1, offsets), places(count, columns);
    Array<float> numbers(count, values), vector(cols, x), out(rows);
    const float one = 1, zero = 0;
    for (int variant = 0; variant < 4; ++variant) {
      const int algorithm = variant < 2 ? DEFAULT : ALG2;
      const bool prepared = variant % 2;
      ms[variant] = NAN;
      if (prepared && !preprocess) continue;
      Described d;
      expect(create_csr(&d.matrix, rows, cols, count, begins.data, places.data, numbers.data, INT32, INT32, 0, FLOAT32), "CreateCsr");
      expect(create_vector(&d.x, cols, vector.data, FLOAT32), "CreateDnVec");
      expect(create_vector(&d.y, rows, out.data, FLOAT32), "CreateDnVec");
      size_t bytes = 0;
      expect(buffer_size(handle, NO_TRANSPOSE, &one, d.matrix, d.x, &zero, d.y, FLOAT32, algorithm, &bytes), "SpMV_bufferSize");
      Array<char> scratch(bytes);
      check(cudaMemset(out.data, 0, 4 * rows));
      auto call = [&](Product* function) {
        expect(function(handle, NO_TRANSPOSE, &one, d.matrix, d.x, &zero, d.y, FLOAT32, algorithm, scratch.data), "SpMV");
      };
      if (prepared) call(preprocess);
      ms[variant] = milliseconds([&] { call(product); });
      out.to_host(y + variant * rows, rows);
    }
  });
}
