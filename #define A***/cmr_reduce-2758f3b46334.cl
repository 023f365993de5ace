/* reduce */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef int idx;
#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
#define INLINE static inline __attribute__((always_inline))
/* An operator; convert_TN is a library call on PoCL, and wrong there for 1024-bit vectors (PoCL 3.0 on an AMD Zen 4). */
#if __has_builtin(__builtin_convertvector)
#define CMR_CONVERT(v, T) __builtin_convertvector(v, T)
#else
#define CMR_CONVERT(v, T) convert_##T(v)
#endif
/* The lowest bit that is set, and how many are; popcount() is a call on PoCL. */
#if __has_builtin(__builtin_ctz) && __has_builtin(__builtin_popcount)
#define CMR_LOWEST(bits) __builtin_ctz(bits)
#define CMR_COUNT(bits) __builtin_popcount(bits)
#else
#define CMR_LOWEST(bits) (31 - (int)clz((bits) & (0u - (bits))))
#define CMR_COUNT(bits) ((int)popcount(bits))
#endif
/* Past the caches: worth 1.2 to 3 times wherever a CPU writes an array. The address must be a multiple of the vector's size. */
#if 0 && __has_builtin(__builtin_nontemporal_store)
#define CMR_STREAM(T, p, v) __builtin_nontemporal_store(v, (__global T *)(p))
#else
#define CMR_STREAM(T, p, v) CMR_STORE(T, p, v)
#endif
/* Not min(), which is a call on PoCL. */
#define CMR_MIN(a, b) ((a) < (b) ? (a) : (b))
/* Library calls on 512-bit vectors crash PoCL's compiler or give garbage (PoCL 3.0 on an AMD Zen 4: fabs, sqrt, exp, floor, erf …). */
#define CMR_CALL1(f, T, x) f(x)
#define CMR_CALL2(f, T, x, y) f(x, y)
#define CMR_CALL1Q(f, T, x) f(x)
#define CMR_CALL2Q(f, T, x, y) f(x, y)
typedef double2 double2_at __attribute__((aligned(sizeof(double))));
typedef double4 double4_at __attribute__((aligned(sizeof(double))));
typedef double8 double8_at __attribute__((aligned(sizeof(double))));
typedef double16 double16_at __attribute__((aligned(sizeof(double))));
typedef float16 float16_at __attribute__((aligned(sizeof(float))));
#define CMR_LOAD(T, p) (*(__global const T##_at *)(p))
/* At any element: as above where vectors may lie anywhere. */
#define CMR_LOAD_ANYWHERE(T, lanes, p) CMR_LOAD(T, p)
#define CMR_STORE(T, p, v) (*(__global T##_at *)(p) = (v))
#define CMR_PEEK(T, p) (*(const T##_at *)(p))
#define CMR_LOCAL_ID 0
#define CMR_GROUP ((idx)(get_group_id(0) + get_global_offset(0)))
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void cmr_reduce(__global const float *restrict in0, __global float *restrict out0, const idx n, const idx share)
 {
    const idx first = CMR_GROUP * share, last = first + min((idx)(n - first), share);
    const idx begin = first, end = last;
    const idx stretch = (end > begin ? end - begin : 0) / 32 * 16;
    double acc_total = ((double)(0x0.0p+0));
    {
    double16 part0_total = ((double16)(((double)(0x0.0p+0))));
    double16 part1_total = ((double16)(((double)(0x0.0p+0))));
    for (idx t = begin; t < begin + stretch; t += 16) {
        {
const float16 va0_in0_0 = CMR_LOAD(float16, in0 + ((t + (0 + CMR_LOCAL_ID) * 16)));
const double16 v0 = CMR_CONVERT(va0_in0_0, double16);
const double16 v1 = (part0_total + v0);
part0_total = v1;
}
        {
const float16 va0_in0_0 = CMR_LOAD(float16, in0 + ((t + stretch + (0 + CMR_LOCAL_ID) * 16)));
const double16 v0 = CMR_CONVERT(va0_in0_0, double16);
const double16 v1 = (part1_total + v0);
part1_total = v1;
}
    }
    {
const double16 v0 = (part0_total + part1_total);
part0_total = v0;
}
    double8 whole_h8_total = part0_total.lo, whole_h8b_total = part0_total.hi;
{
const double8 v0 = (whole_h8_total + whole_h8b_total);
whole_h8_total = v0;
}
double4 whole_h4_total = whole_h8_total.lo, whole_h4b_total = whole_h8_total.hi;
{
const double4 v0 = (whole_h4_total + whole_h4b_total);
whole_h4_total = v0;
}
double2 whole_h2_total = whole_h4_total.lo, whole_h2b_total = whole_h4_total.hi;
{
const double2 v0 = (whole_h2_total + whole_h2b_total);
whole_h2_total = v0;
}
double whole_total = whole_h2_total.x, wholeb_total = whole_h2_total.y;
{
const double v0 = (whole_total + wholeb_total);
whole_total = v0;
}
    {
const double v0 = (acc_total + whole_total);
acc_total = v0;
}
    }
    for (idx i = begin + 2 * stretch + CMR_LOCAL_ID; i < end; i += 1) {
        {
const float va0_in0_0 = in0[(i)];
const double v0 = ((double)(va0_in0_0));
const double v1 = (acc_total + v0);
acc_total = v1;
}
    }
    if (1) {
        {
const float v0 = ((float)(acc_total));
out0[0] = v0;
}
    }
}

