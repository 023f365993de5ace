## Numbers from memory and back: of `words_in` words, of all words, and rounded to `words_out` words.
num num_loaded(__global const real *x) {
    num r = num_of(0);
% for k in range(words_in):
    r.w[${k}] = x[${k}];
% endfor
    return r;
}
num num_row(__global const real *x) {
    num r;
% for k in range(words):
    r.w[${k}] = x[${k}];
% endfor
    return r;
}
void num_stored(num r, __global ${stored} *out) {
    const real first = r.w[0];
    r = isfinite(first) ? num_sorted(r) : num_of(first);
    if (r.w[0] == 0) r.w[0] = first; /* its sign */
% if T == stored:
% for k in range(words_out):
    out[${k}] = ${f"r.w[{k}]" if k < words else 0};
% endfor
% else:
    out[0] = (${stored})r.w[0];
% endif
}
