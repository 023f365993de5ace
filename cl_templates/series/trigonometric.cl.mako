## Sine, cosine and tangent: quarter turns off, and the Taylor series of what is left, at most pi/4.
num num_sin_near(num r) { return num_multiply(r, num_polynomial(sin_table, sin_table_rows, num_multiply(r, r))); }
num num_cos_near(num r) { return num_polynomial(cos_table, cos_table_rows, num_multiply(r, r)); }
/* The sine of r + quarter pi/2. */
num num_sin_quarter(num r, int quarter) {
    const num s = quarter & 1 ? num_cos_near(r) : num_sin_near(r);
    return quarter & 2 ? num_negative(s) : s;
}
num num_sin(num x) {
    int quarter;
    if (x.w[0] == 0) return x;
    if (!isfinite(x.w[0])) return num_of(NAN);
    const num r = num_reduced(x, &quarter);
    return num_sin_quarter(r, quarter);
}
num num_cos(num x) {
    int quarter;
    if (!isfinite(x.w[0])) return num_of(NAN);
    const num r = num_reduced(x, &quarter);
    return num_sin_quarter(r, quarter + 1);
}
num num_tan(num x) {
    int quarter;
    if (x.w[0] == 0) return x;
    if (!isfinite(x.w[0])) return num_of(NAN);
    const num r = num_reduced(x, &quarter), s = num_sin_near(r), c = num_cos_near(r);
    return quarter & 1 ? num_negative(num_divide(c, s)) : num_divide(s, c);
}
