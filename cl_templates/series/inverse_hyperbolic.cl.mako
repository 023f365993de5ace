## Inverse hyperbolic functions by log1p, which loses nothing for small arguments.
num num_log_twice(num x) { return num_add(num_log(x), num_read(ln2_table, 0)); }
num num_asinh(num x) {
    const num a = num_absolute(x);
    if (!(a.w[0] > 0) || isinf(a.w[0])) return x;
    num r;
    if (a.w[0] > ${"0x1p150" if T == "double" else "0x1p62f"}) {
        r = num_log_twice(a);
    } else {
        const num square = num_multiply(a, a);
        r = num_log1p(num_add(a, num_divide(square, num_add_real(num_sqrt(num_add_real(square, 1)), 1))));
    }
    return x.w[0] < 0 ? num_negative(r) : r;
}
num num_acosh(num x) {
    const num t = num_add_real(x, -1);
    if (isinf(x.w[0])) return num_of(x.w[0] > 0 ? x.w[0] : NAN);
    if (!(t.w[0] >= 0)) return num_of(NAN);
    if (x.w[0] > ${"0x1p150" if T == "double" else "0x1p62f"}) return num_log_twice(x);
    return num_log1p(num_add(t, num_sqrt(num_multiply(t, num_add_real(t, 2)))));
}
