## The vendor vocabulary in OpenCL C 1.2: here the macros of every kernel; in the folder `portable` the helper functions kernels may call, one def each.
## `cmr_power_int(a, b)` asks for power("int"). A vendor's own file may override any function; nothing may exist there only.
## Functions that only some compilers know are in `vendor/clang`: such a function ends Mesa's translator to SPIR-V, and the process.
#define INLINE static inline
#define CMR_CONVERT(v, T) convert_##T(v)
/* The lowest bit that is set, and how many are. */
#define CMR_LOWEST(bits) (31 - (int)clz((bits) & (0u - (bits))))
#define CMR_COUNT(bits) ((int)popcount(bits))
#define CMR_STREAM(T, p, v) CMR_STORE(T, p, v)
/* In front of a loop that the compiler is not to vectorize. */
#define CMR_ONE_BY_ONE
