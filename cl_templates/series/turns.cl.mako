## x as quarter turns, for any x: integers of ${limbs} x 32 bits hold its fraction of a turn.
##   A word M 2^e gives M times the bits of 1/(2 pi) from bit e on; bits before that are whole turns. `turn_bits` holds these bits after `limbs` zeros.
/* The greatest 32 bits first; adds M times the bits from `from` on, or takes them away. */
void num_add_turns(uint *turns, ulong size, int from, uint flip) {
    const int first = from >> 5, shift = from & 31;
    uint borrow = flip & 1, low = (uint)size, high = (uint)(size >> 32);
    ulong carry = 0, last = 0;
    for (int j = ${limbs}; j >= 0; j--) {
        const ulong both = ((ulong)turn_bits[first + j] << 32) | turn_bits[first + j + 1];
        const ulong bits = (both << shift) >> 32, product = low * bits, upper = high * last;
        carry += (uint)product;
        carry += (uint)upper;
        if (j < ${limbs}) {
            const ulong sum = (ulong)turns[j] + ((uint)carry ^ flip) + borrow;
            turns[j] = (uint)sum;
            borrow = (uint)(sum >> 32);
        }
        carry = (carry >> 32) + (product >> 32) + (upper >> 32);
        last = bits;
    }
}
/* x = quarter pi/2 + the result, which is at most pi/4 off 0; quarter from 0 to 3. */
num num_reduced(num x, int *quarter) {
    *quarter = 0;
    if (fabs(x.w[0]) < (real)0.78) return x;
    uint turns[${limbs}];
    for (int j = 0; j < ${limbs}; j++) turns[j] = 0;
    for (int k = 0; k < ${words}; k++) {
        int exponent;
        const real size = ldexp(frexp(fabs(x.w[k]), &exponent), ${precision});
        const int from = exponent - ${precision} + ${32 * limbs};
        if (size != 0 && from >= 0) num_add_turns(turns, (ulong)size, from, x.w[k] < 0 ? 0xffffffffu : 0u);
    }
    *quarter = (int)((turns[0] + 0x20000000u) >> 30);
    turns[0] -= (uint)*quarter << 30;
    const uint flip = turns[0] >> 31 ? 0xffffffffu : 0u;
    uint carry = flip & 1;
    num r = num_of(0);
    for (int j = ${limbs - 1}; j >= 0; j--) {
        const ulong sum = (ulong)(turns[j] ^ flip) + carry;
        carry = (uint)(sum >> 32);
% if T == "double":
        r = num_add_real(r, ldexp((real)(uint)sum, -32 * (j + 1)));
% else:
        r = num_add_real(r, ldexp((real)((uint)sum & 0xffffu), -32 * (j + 1)));
        r = num_add_real(r, ldexp((real)((uint)sum >> 16), 16 - 32 * (j + 1)));
% endif
    }
    r = num_multiply(r, num_read(two_pi_table, 0));
    return flip ? num_negative(r) : r;
}
