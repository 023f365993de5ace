## Riemann's zeta function: Euler and Maclaurin's sum of `powers` terms from -1 on, its functional equation below.
##   The series' variable is the square of s / `powers`, a power of two. Powers k^-s of primes are exponentials, the others products; `factor` holds the least prime factor of each k.
num num_zeta_right(num s) {
    num power[${powers + 1}];
    const num back = num_negative(s);
    int prime = 0;
    for (int k = 2; k <= ${powers}; k++) {
        const int factor = factor_table[k];
        power[k] = factor == k ? num_exp(num_multiply(back, num_read(log_prime_table, prime++))) : num_multiply(power[factor], power[k / factor]);
    }
    const num last = power[${powers}];
    num tail = num_read(zeta_table, 0);
    for (int j = zeta_table_rows - 1; j > 0; j--) {
        const num pair = num_times_power(num_multiply(num_add_real(s, 2 * j - 1), num_add_real(s, 2 * j)), ${f"{(1 / powers**2).hex()}f"});
        tail = num_add(num_multiply(tail, pair), num_read(zeta_table, zeta_table_rows - j));
    }
    num r = num_times_power(num_multiply(num_multiply(tail, s), last), ${f"{(1 / powers).hex()}f"});
    r = num_add(r, num_times_power(last, (real)0.5));
    r = num_add(r, num_divide(num_times_real(last, ${powers}), num_add_real(s, -1)));
    for (int k = ${powers - 1}; k >= 2; k--) r = num_add(r, power[k]);
    return num_add_real(r, 1);
}
num num_zeta(num s) {
    int k;
    const real a = s.w[0];
    if (isnan(a)) return s;
    if (num_add_real(s, -1).w[0] == 0) return num_of(INFINITY);
    if (a > ${bits + 8}) return num_of(1);
    if (a >= -1) return num_zeta_right(s);
    const num sine = num_sin_pi(num_times_power(s, (real)0.5));
    if (sine.w[0] == 0) return num_of(0);
    if (!(a > ${-300 if T == "double" else -80})) return num_of(isinf(a) ? NAN : copysign((real)INFINITY, sine.w[0]));
    num y = num_add_real(num_negative(s), 1);
    const num right = num_zeta_right(y), turn = num_multiply(y, num_read(log_two_pi_table, 0));
    const num product = num_rising(&y);
    const num e = num_exp_reduced(num_subtract(num_stirling(y), turn), &k);
    num r = num_multiply(num_multiply(num_add_real(e, 1), sine), right);
    return num_shifted(num_divide(r, product), k + 1);
}
