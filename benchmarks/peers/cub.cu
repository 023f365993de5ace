// CUB and the CUDA runtime on the plain primitives, for benchmarks/primitives.py: one line "name milliseconds" per case, the median of 20
// runs timed with CUDA events after warm-up. Build: nvcc -O3 -std=c++17 -arch=native cub.cu -o cub.   Run: ./cub 28
#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                            \
  do {                                                                                         \
    cudaError_t error = (call);                                                                \
    if (error != cudaSuccess) {                                                                \
      std::fprintf(stderr, "%s, line %d\n", cudaGetErrorString(error), __LINE__);              \
      std::exit(1);                                                                            \
    }                                                                                          \
  } while (0)

__global__ void fill(float* x, size_t n, unsigned seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    unsigned h = unsigned(i) * 2654435761u + seed;
    h ^= h >> 15; h *= 2246822519u; h ^= h >> 13;
    x[i] = h * 2.3283064e-10f;
  }
}

template <class F>
void time_case(const char* name, F run) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < 23; ++i) {
    float ms = 0;
    CHECK(cudaEventRecord(begin)); run(); CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end)); CHECK(cudaEventElapsedTime(&ms, begin, end)); CHECK(cudaGetLastError());
    if (i >= 3) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  std::printf("%s %.5f\n", name, times[times.size() / 2]);
}

template <class F>
void time_cub(const char* name, F call) {  // CUB's protocol: the first call asks how much scratch the second one needs
  void* scratch = nullptr;
  size_t bytes = 0;
  CHECK(call(scratch, bytes));
  CHECK(cudaMalloc(&scratch, bytes));
  time_case(name, [&] { CHECK(call(scratch, bytes)); });
  CHECK(cudaFree(scratch));
}

struct Product {
  const float *x, *y;
  __host__ __device__ float operator()(size_t i) const { return x[i] * y[i]; }
};

int main(int argc, char** argv) {
  const size_t n = size_t(1) << (argc > 1 ? std::atoi(argv[1]) : 28);
  float *x, *y, *out;
  CHECK(cudaMalloc(&x, 4 * n)); CHECK(cudaMalloc(&y, 4 * n)); CHECK(cudaMalloc(&out, 4 * n));
  fill<<<1024, 256>>>(x, n, 1); fill<<<1024, 256>>>(y, n, 2);
  CHECK(cudaDeviceSynchronize());
  time_case("memset", [&] { CHECK(cudaMemsetAsync(out, 0, 4 * n)); });
  time_case("copy", [&] { CHECK(cudaMemcpyAsync(out, x, 4 * n, cudaMemcpyDeviceToDevice)); });
  time_cub("sum", [&](void* s, size_t& b) { return cub::DeviceReduce::Sum(s, b, x, out, n); });
  time_cub("maximum", [&](void* s, size_t& b) { return cub::DeviceReduce::Max(s, b, x, out, n); });
  auto products = thrust::make_transform_iterator(thrust::make_counting_iterator<size_t>(0), Product{x, y});
  time_cub("dot", [&](void* s, size_t& b) { return cub::DeviceReduce::Sum(s, b, products, out, n); });
  time_cub("scan", [&](void* s, size_t& b) { return cub::DeviceScan::InclusiveSum(s, b, x, out, n); });
}
