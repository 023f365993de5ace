## Numbers in `words` floats T, of which they are the sum: the arithmetic of functions that loop over the terms of a series.
##   A sum or product collects the terms of each order, an order being the size of the rounding error of the word before. All orders but the smallest are
##   added without a loss: rounding errors go to the next order. The error of every operation is a few units of the order after the last word.
##   Plain functions, not INLINE: a kernel calls them so often that its build would take minutes.
<%
def gathered(orders):
    """C statements that add up each order: its sum is s<order>, what it loses goes to the next."""
    lines, losses = [], []
    for k, own in enumerate(orders):
        terms = own + losses
        losses = []
        total = terms[0]
        for i, term in enumerate(terms[1:]):
            name = f"s{k}_{i}"
            lines.append(f"const {T} {name} = {total} + {term};")
            if k < len(orders) - 1:
                lines.append(f"const {T} e{k}_{i} = cmr_sum_error_{T}({total}, {term}, {name});")
                losses.append(f"e{k}_{i}")
            total = name
        lines.append(f"r.w[{k}] = {total};")
    return "\n    ".join(lines)

def products():
    """The orders of a product, and the statements that compute them."""
    lines, orders = [], [[] for _ in range(words)]
    for k in range(words):
        for i in range(k + 1):
            name = f"p{i}_{k - i}"
            lines.append(f"const {T} {name} = a.w[{i}] * b.w[{k - i}];")
            orders[k].append(name)
            if k < words - 1:
                lines.append(f"const {T} l{i}_{k - i} = cmr_product_error_{T}(a.w[{i}], b.w[{k - i}], {name});")
                orders[k + 1].append(f"l{i}_{k - i}")
    return "\n    ".join(lines), orders

def scaled():
    """The same for a product with one float."""
    lines, orders = [], [[] for _ in range(words)]
    for k in range(words):
        lines.append(f"const {T} p{k} = a.w[{k}] * b;")
        orders[k].append(f"p{k}")
        if k < words - 1:
            lines.append(f"const {T} l{k} = cmr_product_error_{T}(a.w[{k}], b, p{k});")
            orders[k + 1].append(f"l{k}")
    return "\n    ".join(lines), orders
%>
typedef ${T} real;
typedef struct { real w[${words}]; } num;

/* The words in order: each is the rounded sum of itself and those behind it. The first pass is for sums that cancel, which leave zeros in front. */
num num_sorted(num r) {
% for k in [0, *range(words - 1)]:
% for i in range(words - 2, k - 1, -1):
    { const real s = r.w[${i}] + r.w[${i + 1}]; r.w[${i + 1}] = cmr_sum_error_${T}(r.w[${i}], r.w[${i + 1}], s); r.w[${i}] = s; }
% endfor
% endfor
    return r;
}
num num_of(real x) {
    num r;
    r.w[0] = x;
% for k in range(1, words):
    r.w[${k}] = 0;
% endfor
    return r;
}
num num_read(__constant const real *table, int row) {
    num r;
% for k in range(words):
    r.w[${k}] = table[row * ${words} + ${k}];
% endfor
    return r;
}
num num_times_power(num a, real power) {
% for k in range(words):
    a.w[${k}] *= power;
% endfor
    return a;
}
num num_shifted(num a, int exponent) {
% for k in range(words):
    a.w[${k}] = ldexp(a.w[${k}], exponent);
% endfor
    return a;
}
num num_negative(num a) { return num_times_power(a, -1); }
num num_absolute(num a) { return a.w[0] < 0 ? num_negative(a) : a; }
num num_add(num a, num b) {
    num r;
    ${gathered([[f"a.w[{k}]", f"b.w[{k}]"] for k in range(words)])}
    return num_sorted(r);
}
num num_subtract(num a, num b) { return num_add(a, num_negative(b)); }
num num_add_real(num a, real b) {
    num r;
    ${gathered([[f"a.w[{k}]"] + ["b"] * (k == 0) for k in range(words)])}
    return num_sorted(r);
}
num num_multiply(num a, num b) {
    num r;
    <% lines, orders = products() %>${lines}
    ${gathered(orders)}
    return num_sorted(r);
}
num num_times_real(num a, real b) {
    num r;
    <% lines, orders = scaled() %>${lines}
    ${gathered(orders)}
    return num_sorted(r);
}
/* Long division, a float of the quotient at a time. */
num num_divide(num a, num b) {
    num r;
    const real divisor = b.w[0];
% for k in range(words):
    r.w[${k}] = a.w[0] / divisor;
% if k < words - 1:
    a = num_subtract(a, num_times_real(b, r.w[${k}]));
% endif
% endfor
    return num_sorted(r);
}
num num_inverse(num a) { return num_divide(num_of(1), a); }
/* Of a number between 1/4 and 4: Newton's steps, each of which adds a float to the root. */
num num_root(num a) {
    num r = num_of(sqrt(a.w[0]));
    const real slope = 2 * r.w[0];
    for (int k = 1; k < ${words}; k++) r = num_add_real(r, num_subtract(a, num_multiply(r, r)).w[0] / slope);
    return r;
}
num num_sqrt(num a) {
    int exponent;
    if (!(a.w[0] > 0) || isinf(a.w[0])) return num_of(sqrt(a.w[0]));
    frexp(a.w[0], &exponent);
    exponent &= ~1;
    return num_shifted(num_root(num_shifted(a, -exponent)), exponent / 2);
}
/* The polynomial whose coefficients are the rows of a table, that of the highest power first. */
num num_polynomial(__constant const real *table, int terms, num x) {
    num r = num_read(table, 0);
    for (int k = 1; k < terms; k++) r = num_add(num_multiply(r, x), num_read(table, k));
    return r;
}
