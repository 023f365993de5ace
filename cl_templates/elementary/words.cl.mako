## Defs of elementary functions: types, polynomials, functions by halves, and a number's exponent. Polynomials are interpolated at Chebyshev's
## nodes, computed with 60 digits; their errors are next to them.
<%!
from cl_templates import vectors
from cl_templates.vectors import split, typed

def wide(T, widest):
    """Whether a vector has more bytes than a register."""
    return split(T)[1] * (8 if T.startswith("double") else 4) > widest

def integers(T):
    """The integers as wide as a float: "float16" -> "int16"."""
    return typed("int" if T.startswith("float") else "long", split(T)[1])

def number(T, text):
    """A number in every lane."""
    return f"({T})({text}{'f' if T.startswith('float') else ''})"

def converted(T, value):
    """A value in another type of as many lanes."""
    return vectors.converted(value, *split(T))

def polynomial(T, x, coefficients):
    """Horner's scheme, the lowest coefficient first."""
    text = number(T, coefficients[-1])
    for c in coefficients[-2::-1]:
        text = f"({text} * {x} + {number(T, c)})"
    return text

def polynomial_by_halves(T, x, square, coefficients):
    """The even and the odd terms by themselves, chains of half the length; `square` is x * x."""
    even, odd = (polynomial(T, square, coefficients[first::2]) for first in (0, 1))
    return f"({even} + {x} * {odd})"

def bits(T):
    """Of a float's bits: digits behind the point, 1, sqrt(1/2), all but the sign, 2^digits, the exponent of 1, that by which small numbers are
    scaled, and the least normal number."""
    if T.startswith("float"):
        return 23, "0x3f800000", "0x3f3504f3", "0x7fffffff", "0x4b000000", 127, 23, "0x1p-126"
    return 52, "0x3ff0000000000000L", "0x3fe6a09e667f3bcdL", "0x7fffffffffffffffL", "0x4330000000000000L", 1023, 54, "0x1p-1022"
%>
<%def name="halved(T, name, arguments)">
<% half = typed(split(T)[0], split(T)[1] // 2) %>
    return (${T})(${", ".join(f"cmr_{name}_{half}({', '.join(f'{a}.{part}' for a in arguments)})" for part in ("lo", "hi"))});
</%def>
## a = 2^exponent m, m from sqrt(1/2) to sqrt(2), for a > 0 and finite: variables `one`, `exponent`, `m`.
<%def name="exponent_of(T, a)">
<%
digits, one, root, size, big, bias, up, least = bits(T)
I = integers(T)
%>
    const ${T} one = ${number(T, "1.0")};
    const ${I} tiny = ${a} < ${number(T, least)};
    const u${I} scaled = as_u${I}(tiny ? ${a} * ${number(T, f"0x1p{up}")} : ${a}), field = (scaled + (${one} - ${root})) >> ${digits};
    const ${T} m = as_${T}(scaled + ${one} - (field << ${digits}));
    const ${T} exponent = as_${T}(field | ${big}) - (tiny ? ${number(T, f"{2**digits + bias + up}.0")} : ${number(T, f"{2**digits + bias}.0")});
</%def>
