## Arcs: atan(y / x) = atan(j / 16) + atan(t) with |t| at most 1/32, and the Taylor series of atan t. `arcs_table` holds atan(j / 16).
/* For 0 <= y <= x, not both 0. */
num num_atan_octant(num y, num x) {
    const num q = num_divide(y, x);
    const int j = (int)rint(16 * q.w[0]);
    const real c = (real)j / 16;
    const num t = j == 0 ? q : num_divide(num_add_real(q, -c), num_add_real(num_times_real(q, c), 1));
    const num r = num_multiply(t, num_polynomial(atan_table, atan_table_rows, num_multiply(t, t)));
    return j == 0 ? r : num_add(num_read(arcs_table, j), r);
}
/* The angle of a point with x >= 0 and finite numbers, not both 0. */
num num_angle_right(num y, num x) {
    const num size = num_absolute(y);
    const int steep = num_subtract(size, x).w[0] > 0;
    num r = steep ? num_atan_octant(x, size) : num_atan_octant(size, x);
    if (steep) r = num_subtract(num_read(half_pi_table, 0), r);
    return y.w[0] < 0 ? num_negative(r) : r;
}
num num_atan(num x) {
    if (x.w[0] == 0 || isnan(x.w[0])) return x;
    if (isinf(x.w[0])) return num_times_power(num_read(half_pi_table, 0), x.w[0] > 0 ? 1 : -1);
    return num_angle_right(x, num_of(1));
}
num num_asin(num x) {
    if (x.w[0] == 0) return x;
    const num square = num_multiply(num_add_real(num_negative(x), 1), num_add_real(x, 1));
    if (!(square.w[0] >= 0)) return num_of(NAN);
    return num_angle_right(x, num_sqrt(square));
}
num num_acos(num x) {
    const num above = num_add_real(num_negative(x), 1), below = num_add_real(x, 1);
    if (!(above.w[0] >= 0 && below.w[0] >= 0)) return num_of(NAN);
    return num_times_power(num_angle_right(num_sqrt(above), num_sqrt(below)), 2);
}
