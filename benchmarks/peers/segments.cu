// CUB's segmented sum and reduce-by-key on the caller's numbers, for benchmarks/segmented.py. A shared library: host arrays come in,
// sums and milliseconds per call go out. Every function returns null, or what went wrong. Built by cuda.py beside this file.
#include "timing.cuh"
#include <cub/cub.cuh>
#include <memory>

static std::unique_ptr<Array<float>> elements;

template <class F>
static double time_cub(F call) {  // CUB's protocol: the first call asks how much scratch the second one needs
  size_t bytes = 0;
  check(call(nullptr, bytes));
  Array<char> scratch(bytes);
  return milliseconds([&] { check(call(scratch.data, bytes)); });
}

extern "C" const char* hold(const float* x, long long n) {  // the elements of all calls below
  return guarded([&] {
    elements.reset();
    elements.reset(new Array<float>(n, x));
  });
}

// offsets: segments + 1; sums: segments
extern "C" const char* segmented_sum(const int* offsets, long long segments, float* sums, double* ms) {
  return guarded([&] {
    Array<int> begins(segments + 1, offsets);
    Array<float> out(segments);
    *ms = time_cub([&](void* scratch, size_t& bytes) {
      return cub::DeviceSegmentedReduce::Sum(
        scratch, bytes, elements->data, out.data, segments, begins.data, begins.data + 1);
    });
    out.to_host(sums, segments);
  });
}

// keys: one per element; sums: one per run, `limit` of them at most
extern "C" const char* sum_by_key(const int* keys, long long limit, float* sums, long long* runs, double* ms) {
  return guarded([&] {
    const size_t n = elements->n;
    Array<int> given(n, keys), unique(n), count(1);
    Array<float> out(n);
    *ms = time_cub([&](void* scratch, size_t& bytes) {
      return cub::DeviceReduce::ReduceByKey(
        scratch, bytes, given.data, unique.data, elements->data, out.data, count.data, ::cuda::std::plus<>{}, int(n));
    });
    int found = 0;
    count.to_host(&found, 1);
    *runs = found;
    out.to_host(sums, std::min<long long>(found, limit));
  });
}
