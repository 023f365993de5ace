## Sines, cosines and tangents of floats from operators alone, reduced in double: within 2 ulp, of tangents 4.
<%namespace name="words" file="words.cl.mako"/>
<%!
from cl_templates.vectors import split, typed

SIN = ["-0x1.555556p-3", "0x1.1110dep-7", "-0x1.a013a8p-13", "0x1.6dbe08p-19"]
"""(sin(r) / r - 1) / r^2 of r^2, for |r| <= pi / 4, within 2^-35."""
COS = ["0x1.555554p-5", "-0x1.6c12d2p-10", "0x1.9bd89cp-16"]
"""(cos(r) - 1 + r^2 / 2) / r^4 of r^2, within 2^-28."""
%>
<%def name="turn(T, name, widest)">
<%
S, lanes = split(T)
f, I = words.module.number, words.module.integers(T)
parts = {1: [""], 2: ["lo", "hi"]}[max(1, lanes * 8 // widest)] if lanes * 4 <= widest else []
D, F, J = (typed(scalar, lanes // max(1, len(parts))) for scalar in ("double", "float", "int"))
joined = lambda kind, one: f"({kind})({', '.join(one.format(p) for p in parts)})" if len(parts) > 1 else one.format("")
%>
INLINE ${T} cmr_${name}_${T}(${T} x) {
% if not parts:
${words.halved(T, name, ["x"])}
% else:
    /* x = n pi / 2 + r, the product of n and the first word exact */
% for part in parts:
    const ${D} wide${part} = ${words.module.converted(D, f"x.{part}" if part else "x")}, turns${part} = (wide${part} * (${D})(0x1.45f306dc9c883p-1) + (${D})(0x1.8p52)) - (${D})(0x1.8p52);
    const ${D} rest${part} = (wide${part} - turns${part} * (${D})(0x1.921fb54p+0)) - turns${part} * (${D})(0x1.10b4611a62633p-30);
    const ${F} near${part} = ${words.module.converted(F, f"rest{part}")};
    const ${J} count${part} = ${words.module.converted(J, f"turns{part}")};
% endfor
    const ${T} r = ${joined(T, "near{}")}, u = r * r;
    const ${I} quarter = ${joined(I, "count{}")}${" + 1" if name == "cos" else ""}, odd = ${"quarter & 1" if lanes == 1 else "-(quarter & 1)"};
    const ${T} s = r + r * (u * ${words.module.polynomial(T, "u", SIN)}), c = (u * u) * ${words.module.polynomial(T, "u", COS)} + (${f(T, "1.0")} - u * ${f(T, "0.5")});
% if name == "tan":
    const ${T} result = (odd ? -c : s) / (odd ? s : c);
% else:
    const ${T} result = as_${T}(as_${I}(odd ? c : s) ^ ((quarter & 2) << 30));
% endif
    const ${T} size = as_${T}(as_${I}(x) & 0x7fffffff);
    if (cmr_any_${I}((size <= ${f(T, "0x1p22")}) == 0))
% if lanes == 1:
        return ${name}(x);
% else:
        return (${T})(${", ".join(f"{name}(x.s{lane})" for lane in "0123456789abcdef"[:lanes])});
% endif
    return ${"result" if name == "cos" else f"x == {f(T, '0.0')} ? x : result"};
% endif
}
</%def>
