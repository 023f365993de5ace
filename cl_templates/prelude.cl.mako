## The start of every kernel: extensions, the index type, and vectors at any address.
##   narrow  indices are int, else long      cpu  the device is a processor: vectors may be at any address, stores may bypass caches
##   streaming  outputs start at addresses where a whole vector may be stored past the caches
##   macros  the template of the compiler's macros      within  the kernel calls cmr_within
##   pragma  empty, or the pragma that forbids fused products and sums
##   halved  the driver's library takes vectors of at most 256 bits
/* ${name} */
${pragma}
% if any(scalar == "half" for scalar in scalars):
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
% endif
% if any(scalar == "double" for scalar in scalars):
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
% endif
typedef ${"int" if narrow else "long"} idx;
<%include file="${macros}"/>
/* Not min(), which is a call on PoCL. */
#define CMR_MIN(a, b) ((a) < (b) ? (a) : (b))
% if within:
/* An index from memory that others may write, as it is used: from 0 to `last`, which stands for every other one. A function, so that memory is
   read once. One unsigned minimum. */
INLINE idx cmr_within(idx at, idx last) { return (${"uint" if narrow else "ulong"})at < (${"uint" if narrow else "ulong"})last ? at : last; }
% endif
/* Library calls on 512-bit vectors crash PoCL's compiler or give garbage (PoCL 3.0 on an AMD Zen 4: fabs, sqrt, exp, floor, erf …). */
% if halved:
#define CMR_CALL1(f, T, x) ((T)(f((x).lo), f((x).hi)))
#define CMR_CALL2(f, T, x, y) ((T)(f((x).lo, (y).lo), f((x).hi, (y).hi)))
#define CMR_CALL1Q(f, T, x) ((T)(f((x).lo.lo), f((x).lo.hi), f((x).hi.lo), f((x).hi.hi)))
#define CMR_CALL2Q(f, T, x, y) ((T)(f((x).lo.lo, (y).lo.lo), f((x).lo.hi, (y).lo.hi), f((x).hi.lo, (y).hi.lo), f((x).hi.hi, (y).hi.hi)))
% else:
#define CMR_CALL1(f, T, x) f(x)
#define CMR_CALL2(f, T, x, y) f(x, y)
#define CMR_CALL1Q(f, T, x) f(x)
#define CMR_CALL2Q(f, T, x, y) f(x, y)
% endif
% for scalar, lanes in vectors:
% if not cpu:
typedef ${scalar}${lanes} ${scalar}${lanes}_at;
% else:
typedef ${scalar}${lanes} ${scalar}${lanes}_at __attribute__((aligned(sizeof(${scalar}))));
% endif
% endfor
#define CMR_LOAD(T, p) (*(__global const T##_at *)(p))
/* At any element: as above where vectors may lie anywhere. */
#define CMR_LOAD_ANYWHERE(T, lanes, p) ${"CMR_LOAD(T, p)" if cpu else "vload##lanes(0, p)"}
#define CMR_STORE(T, p, v) (*(__global T##_at *)(p) = (v))
#define CMR_PEEK(T, p) (*(const T##_at *)(p))
