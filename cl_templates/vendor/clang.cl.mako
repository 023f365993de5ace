## Extensions of drivers built on clang: the macros of every kernel, and functions of the vocabulary. NVIDIA's, Intel's and
## PoCL's vocabularies come before this one, `vendor/portable` after it.
<%! from cl_templates.vectors import picked, picks_alternate, picks_in_turn, picks_up, split %>
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
#if ${int(streaming)} && __has_builtin(__builtin_nontemporal_store)
#define CMR_STREAM(T, p, v) __builtin_nontemporal_store(v, (__global T *)(p))
#else
#define CMR_STREAM(T, p, v) CMR_STORE(T, p, v)
#endif
/* In front of a loop that the compiler is not to vectorize. */
#define CMR_ONE_BY_ONE _Pragma("clang loop vectorize(disable)")
## Of two vectors in a row, some lanes.
<%def name="_picked(T, name, first, second, picks)">
INLINE ${T} cmr_${name}_${T}(${T} ${first}, ${T} ${second}) {
#if __has_builtin(__builtin_shufflevector)
    return __builtin_shufflevector(${first}, ${second}, ${", ".join(map(str, picks))});
#else
    return ${picked(T, first, second, picks)};
#endif
}
</%def>
<%def name="lanes_up1(T)">${_picked(T, "lanes_up1", "v", "fill", picks_up(T, 1))}</%def>
<%def name="lanes_up2(T)">${_picked(T, "lanes_up2", "v", "fill", picks_up(T, 2))}</%def>
<%def name="lanes_up4(T)">${_picked(T, "lanes_up4", "v", "fill", picks_up(T, 4))}</%def>
<%def name="lanes_up8(T)">${_picked(T, "lanes_up8", "v", "fill", picks_up(T, 8))}</%def>
<%def name="evens(T)">${_picked(T, "evens", "a", "b", picks_alternate(T, 0))}</%def>
<%def name="odds(T)">${_picked(T, "odds", "a", "b", picks_alternate(T, 1))}</%def>
<%def name="turns_low(T)">${_picked(T, "turns_low", "a", "b", picks_in_turn(T, 0))}</%def>
<%def name="turns_high(T)">${_picked(T, "turns_high", "a", "b", picks_in_turn(T, split(T)[1] // 2))}</%def>
## It helps in loops that compute so much that the hardware's prefetcher is too late; a plain sum gets slower.
<%def name="ahead(T)">
INLINE void cmr_ahead_${T}(__global const ${T} *p) {
#if __has_builtin(__builtin_prefetch)
    __builtin_prefetch((const void *)(size_t)p);
#endif
}
</%def>
