## Quotients and remainders, of integers and of floats, as in NumPy.
<%! from cl_templates.vectors import split %>
## Integer division rounds down; by 0 it gives 0 and the lowest number by -1 stays, as in NumPy. Either would trap on a CPU.
<%def name="floor_divide(T)">
% if split(T)[0] in ("float", "double"):
${_one_by_one(T, "floor_divide", "floor_divide_by_library")}
% else:
INLINE ${T} cmr_floor_divide_${T}(${T} a, ${T} b) {
% if T.startswith("u"):
    return b == 0 ? 0 : a / (b == 0 ? 1 : b);
% else:
    if (b == 0) return 0;
    if (b == -1) return (${T})(0 - (u${T})a);
    return a / b - ((a % b != 0) & ((a < 0) != (b < 0)));
% endif
}
% endif
</%def>
## The remainder takes the divisor's sign; by 0 it is 0 for integers and NaN for floats.
<%def name="mod(T)">
% if split(T)[0] in ("float", "double"):
${_one_by_one(T, "mod", "mod_by_library")}
% else:
INLINE ${T} cmr_mod_${T}(${T} a, ${T} b) {
% if T.startswith("u"):
    return b == 0 ? 0 : a % (b == 0 ? 1 : b);
% else:
    if (b == 0 || b == -1) return 0;
    ${T} r = a % b;
    return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
% endif
}
% endif
</%def>
<%def name="_one_by_one(T, name, called)">
<% S, lanes = split(T) %>
INLINE ${T} cmr_${name}_${T}(${T} a, ${T} b) {
% if lanes == 1:
    return cmr_${called}_${S}(a, b);
% else:
    return (${T})(${", ".join(f"cmr_{called}_{S}(a.s{lane}, b.s{lane})" for lane in "0123456789abcdef"[:lanes])});
% endif
}
</%def>
## Floats: the whole number that goes with the remainder, which floor(a / b) is not (1 // 0.1 is 9). NumPy's steps.
<%def name="floor_divide_by_library(T)">
INLINE ${T} cmr_floor_divide_by_library_${T}(${T} a, ${T} b) {
    if (b == 0) return a / b;
    const ${T} r = fmod(a, b);
    const ${T} q = (a - r) / b - (r != 0 && (r < 0) != (b < 0) ? 1 : 0);
    const ${T} whole = floor(q);
    return q == 0 ? copysign((${T})0, a / b) : q - whole > (${T})0.5 ? whole + 1 : whole;
}
</%def>
<%def name="mod_by_library(T)">
INLINE ${T} cmr_mod_by_library_${T}(${T} a, ${T} b) {
    const ${T} r = fmod(a, b);
    return r == 0 ? copysign((${T})0, b) : r == r && (r < 0) != (b < 0) ? r + b : r;
}
</%def>
