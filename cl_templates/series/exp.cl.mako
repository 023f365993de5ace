## e^x: x = k ln 2 + r with |r| <= ln(2)/2, and the Taylor series of (e^r - 1) / r.
num num_expm1_near(num r) { return num_multiply(r, num_polynomial(exp_table, exp_table_rows, r)); }
/* e^x is (1 + the result) 2^k. */
num num_exp_reduced(num x, int *k) {
    const real whole = rint(x.w[0] * (real)${"M_LOG2E" if T == "double" else "M_LOG2E_F"});
    *k = (int)whole;
    return num_expm1_near(num_subtract(x, num_times_real(num_read(ln2_table, 0), whole)));
}
num num_exp(num x) {
    int k;
    if (!(fabs(x.w[0]) < ${800 if T == "double" else 120})) return num_of(exp(x.w[0]));
    const num e = num_exp_reduced(x, &k);
    return num_shifted(num_add_real(e, 1), k);
}
num num_expm1(num x) {
    int k;
    if (x.w[0] == 0) return x;
    if (!(fabs(x.w[0]) < ${800 if T == "double" else 120})) return num_of(expm1(x.w[0]));
    const num e = num_exp_reduced(x, &k);
    if (k == 0) return e;
    if (k > ${bits}) return num_shifted(num_add_real(e, 1), k);
    if (k < -${bits}) return num_of(-1);
    const real power = ldexp((real)1, k);
    return num_add_real(num_add_real(num_times_power(e, power), power), -1);
}
