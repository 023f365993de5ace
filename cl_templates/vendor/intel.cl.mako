## What Intel's compiler fails on.
<%namespace name="portable" file="portable.cl.mako"/>
## It makes one call of a sine and a cosine of the same number, and crashes where that number is a sine itself, beside its cosine (2026.22): as one call they are let be.
<%def name="cos(T)">
% if T.startswith(("float", "double")):
INLINE ${T} cmr_cos_${T}(${T} x) {
    ${T} c;
    (void)sincos(x, &c);
    return c;
}
% else:
${portable.cos(T)}
% endif
</%def>
