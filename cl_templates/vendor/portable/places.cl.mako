## Elements of arrays: where they lie, how they are read ahead and copied.
<%! from cl_templates.vectors import each_of, split %>
## Whether places are contiguous.
<%def name="along(T)">
<% S, lanes = split(T) %>
INLINE int cmr_along_${T}(${T} at) {
    const ${T} from = at - (${T})(${", ".join(map(str, range(lanes)))});
    return !cmr_any_${T}(from != (${T})(from.s0));
}
</%def>
## As cmr_within, for places in several lanes.
<%def name="within(T)">
INLINE ${T} cmr_within_${T}(${T} at, int last) {
    const u${T} given = as_u${T}(at), most = (u${T})((uint)last);
    return as_${T}(given < most ? given : most);
}
</%def>
## Elements at any places; a plain load if these are contiguous.
<%def name="gather(T)">
<% S, lanes = split(T) %>
INLINE ${T} cmr_gather_${T}(__global const ${S} *p, int${lanes} at) {
    if (cmr_along_int${lanes}(at)) return CMR_LOAD(${T}, p + at.s0);
    return ${each_of(T)};
}
</%def>
## Whether this is faster than a plain loop, from which Intel's compiler makes gather instructions.
<%def name="gathers(T)">
INLINE int cmr_gathers_${T}(void) { return 0; }
</%def>
## Prefetches, where a vendor can.
<%def name="ahead(T)">
INLINE void cmr_ahead_${T}(__global const ${T} *p) {}
</%def>
## A load of data that is read once.
<%def name="stream_load(T)">
INLINE ${T} cmr_stream_load_${T}(__global const ${split(T)[0]} *p) { return CMR_LOAD(${T}, p); }
</%def>
## Copies 16 bytes to local memory, which are there once copy_wait has returned and a barrier is passed; the item goes on meanwhile, where there are
## means for that.
<%def name="copy_async(T)">
INLINE void cmr_copy_async_${T}(__local ${T} *to, __global const ${T} *from) { *to = *from; }
</%def>
<%def name="copy_wait(T)">
INLINE void cmr_copy_wait_${T}(void) {}
</%def>
## Places in a table: the nearest valid place; and whether the place was outside.
<%def name="clipped(T)">
INLINE ${T} cmr_clipped_${T}(${T} at, ${split(T)[0]} size) {
    const ${T} above = at > (${T})(0) ? at : (${T})(0), last = (${T})(size - 1);
    return above < last ? above : last;
}
</%def>
<%def name="outside(T)">
INLINE int cmr_outside_${T}(${T} at, ${T} size) { return (at < 0) | (at >= size); }
</%def>
