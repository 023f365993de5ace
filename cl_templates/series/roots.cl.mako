## The cube root: of a number from 1/8 to 8, Newton's steps of one slope, each of which adds about a float.
num num_cbrt(num x) {
    int exponent;
    if (x.w[0] == 0 || !isfinite(x.w[0])) return x;
    const num a = num_absolute(x);
    frexp(a.w[0], &exponent);
    exponent = (exponent + 3000) / 3 - 1000;
    const num m = num_shifted(a, -3 * exponent);
    num r = num_of(cbrt(m.w[0]));
    const real slope = 3 * r.w[0] * r.w[0];
    for (int k = 0; k < ${words}; k++) {
        const num cube = num_multiply(r, num_multiply(r, r));
        r = num_add_real(r, num_subtract(m, cube).w[0] / slope);
    }
    r = num_shifted(r, exponent);
    return x.w[0] < 0 ? num_negative(r) : r;
}
