## The remainder and the quotient of Python's % and //, of floats, from operators alone: the bits that NumPy gives.
<%namespace name="words" file="words.cl.mako"/>
<%! from cl_templates.vectors import split %>
## a = nearest b + rest, exactly, for quotients that have digits to spare; others go one by one, by the library.
<%def name="_of_nearest(T, name, widest)">
<%
S, lanes = split(T)
f, I, digits = words.module.number, words.module.integers(T), words.module.bits(T)[0]
magic, size = f(T, f"0x1.8p{digits}"), words.module.bits(T)[3]
%>
INLINE ${T} cmr_${name}_${T}(${T} a, ${T} b) {
% if words.module.wide(T, widest):
${words.halved(T, name, ["a", "b"])}
% else:
    const ${T} quotient = a / b, nearest = (quotient + ${magic}) - ${magic}, rest = cmr_fma_${T}(-nearest, b, a);
    const ${T} size = as_${T}(as_${I}(quotient) & ${size}), divisor = as_${T}(as_${I}(b) & ${size});
    if (cmr_any_${I}(((size < ${f(T, f"0x1p{digits - 1}")}) & (divisor < (${T})(INFINITY))) == 0))
% if lanes == 1:
        return cmr_${name}_by_library_${T}(a, b);
% else:
        return (${T})(${", ".join(f"cmr_{name}_by_library_{S}(a.s{lane}, b.s{lane})" for lane in "0123456789abcdef"[:lanes])});
% endif
    const ${I} low = (rest != ${f(T, "0.0")}) & ((as_${I}(rest) ^ as_${I}(b)) < 0);
% if name == "mod":
    return rest == ${f(T, "0.0")} ? as_${T}(as_${I}(b) & ~(${I})(${size})) : low ? rest + b : rest;
% else:
    return a == ${f(T, "0.0")} ? quotient : low ? nearest - ${f(T, "1.0")} : nearest;
% endif
% endif
}
</%def>
<%def name="mod(T, widest)">${_of_nearest(T, "mod", widest)}</%def>
<%def name="floor_divide(T, widest)">${_of_nearest(T, "floor_divide", widest)}</%def>
