// What the CUDA peers share: arrays on the device, and times by CUDA events. Errors are thrown as text.
#pragma once
#include <cuda_runtime.h>
#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

template <class T>
struct Array {  // n numbers on the device, copied from the host if that has them
  T* data = nullptr;
  size_t n = 0;
  explicit Array(size_t count, const T* host = nullptr) : n(count) {
    check(cudaMalloc(&data, std::max<size_t>(n, 1) * sizeof(T)));
    if (host) check(cudaMemcpy(data, host, n * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Array() { cudaFree(data); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  void to_host(T* host, size_t count) const { check(cudaMemcpy(host, data, count * sizeof(T), cudaMemcpyDeviceToHost)); }
};

// Milliseconds per call: the median of 20 calls queued one behind another, an event between each two, so that no host time
// counts; of 5 where a call takes more than 10 ms. The warm-up lasts 0.2 s, as ours does: an idle device's clocks rise slowly.
template <class F>
double milliseconds(F run) {
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  double last = 0;
  for (auto now = start; now - start < std::chrono::milliseconds(200);) {
    run();
    check(cudaDeviceSynchronize());
    const auto after = clock::now();
    last = std::chrono::duration<double, std::milli>(after - now).count();
    now = after;
  }
  const int repeats = last > 10 ? 5 : 20;
  std::vector<cudaEvent_t> events(repeats + 1);
  for (auto& event : events) check(cudaEventCreate(&event));
  check(cudaEventRecord(events[0]));
  for (int i = 0; i < repeats; ++i) {
    run();
    check(cudaEventRecord(events[i + 1]));
  }
  check(cudaDeviceSynchronize());
  std::vector<float> times(repeats);
  for (int i = 0; i < repeats; ++i) check(cudaEventElapsedTime(&times[i], events[i], events[i + 1]));
  for (auto event : events) cudaEventDestroy(event);
  std::sort(times.begin(), times.end());
  return times[repeats / 2];
}

template <class F>
const char* guarded(F body) {  // null, or what went wrong: kept until the next call
  static std::string told;
  try {
    body();
    return nullptr;
  } catch (const std::exception& error) {
    told = error.what();
    return told.c_str();
  }
}
