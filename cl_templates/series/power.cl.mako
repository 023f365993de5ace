## x^y = e^(y log x). What IEEE says of zeros, infinities and NaN is the driver's pow, of the first words.
int num_is_whole(num y) {
    int whole = 1;
    for (int k = 0; k < ${words}; k++) whole &= y.w[k] == rint(y.w[k]);
    return whole;
}
int num_is_odd(num y) {
    int odd = 0;
    for (int k = 0; k < ${words}; k++) odd ^= fabs(fmod(y.w[k], (real)2)) == 1;
    return odd;
}
num num_power(num x, num y) {
    const real a = x.w[0], b = y.w[0];
    const int turned = signbit(a) && num_is_whole(y) && num_is_odd(y);
    if (b == 0) return num_of(1);
    if (isnan(a) || isnan(b)) return num_of(pow(a, b));
    if (a == 0 || isinf(a) || isinf(b)) return num_of(turned ? -pow(fabs(a), b) : pow(fabs(a), b));
    if (a < 0 && !num_is_whole(y)) return num_of(NAN);
    num r = num_log(num_absolute(x));
    if (fabs(r.w[0]) * fabs(b) < ${800 if T == "double" else 120}) r = num_multiply(r, y);
    else r = num_of(r.w[0] == 0 ? 0 : (r.w[0] > 0) == (b > 0) ? INFINITY : -INFINITY);
    r = num_exp(r);
    return turned ? num_negative(r) : r;
}
