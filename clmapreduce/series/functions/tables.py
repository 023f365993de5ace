"""The coefficients of every series as exact fractions, as many as its truncation bound asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from math import factorial

from clmapreduce.series.functions import exact
from clmapreduce.series.functions.accuracy import Accuracy

Rows = list[Fraction]


def polynomial(coefficient: Callable[[int], Fraction], reach: Fraction, bits: int) -> Rows:
    """The coefficients of Σ c(k) xᵏ, |x| <= reach, that of the highest power first.

    The sum ends before a term below 2^-(bits + 2) of the first one, if it is also below half the term before it. Terms
    beyond fall by half or more each, so that what is left out is at most 2^-bits of the first term.
    """
    rows: Rows = []
    last = Fraction(0)
    for k in count():
        value = coefficient(k)
        size = abs(value) * reach**k
        if k and size * 2 ** (bits + 2) < abs(rows[0]) and 2 * size <= last:
            return rows[::-1]
        rows.append(value)
        last = size
    raise AssertionError


def _alternating(value: Fraction, k: int) -> Fraction:
    return -value if k % 2 else value


def _exp(at: Accuracy) -> Rows:
    return polynomial(lambda k: Fraction(1, factorial(k + 1)), Fraction(7, 20), at.target)


def _atanh(at: Accuracy) -> Rows:
    return polynomial(lambda k: Fraction(1, 2 * k + 1), Fraction(9, 50) ** 2, at.target)


def _atan(at: Accuracy) -> Rows:
    return polynomial(lambda k: Fraction((-1) ** k, 2 * k + 1), Fraction(1, 31) ** 2, at.target)


def _sin(at: Accuracy) -> Rows:
    return polynomial(lambda k: Fraction((-1) ** k, factorial(2 * k + 1)), Fraction(4, 5) ** 2, at.target)


def _cos(at: Accuracy) -> Rows:
    return polynomial(lambda k: Fraction((-1) ** k, factorial(2 * k)), Fraction(4, 5) ** 2, at.target + 1)


def _erf(at: Accuracy) -> Rows:
    front = 2 / exact.root(exact.pi())
    return polynomial(lambda k: front * Fraction((-1) ** k, factorial(k) * (2 * k + 1)), Fraction(1), at.target + 1)


def _gauss(at: Accuracy) -> Rows:
    step = Fraction(at.step)
    rows: Rows = []
    for k in count(1):
        square = (k * step) ** 2
        weight = 2 * exact.exp_negative(square)
        if weight * 2 ** (at.target + 4) < 1:
            return [*rows, step / exact.pi(), 2 * exact.pi() / step]
        rows += [square, weight]
    raise AssertionError


def _stirling(at: Accuracy) -> Rows:
    """B(2j) / (2j (2j - 1)): the error is below the first term left out."""

    def coefficient(k: int) -> Fraction:
        return exact.bernoulli(2 * k + 2) / ((2 * k + 2) * (2 * k + 1))

    least = Fraction(1, 2**at.target)
    terms = next(k for k in count(1) if abs(coefficient(k)) < least * at.shift ** (2 * k + 1))
    return [coefficient(k) for k in reversed(range(terms))]


def _lgamma(at: Accuracy) -> Rows:
    """log Γ(2 + z) / z for |z| <= 1/4."""

    def coefficient(k: int) -> Fraction:
        if k == 0:
            return 1 - exact.euler_gamma()
        return _alternating(exact.zeta_less_one(k + 1) / (k + 1), k + 1)

    return polynomial(coefficient, Fraction(1, 4), at.target)


def _zeta(at: Accuracy) -> Rows:
    """B(2j) / (2j)!, until the term is below the target for every s >= -1; the error is below the
    first term left out. The term over its power of s is greatest for an s up to 2 j / (powers - 1) + 1.
    """
    n = at.powers
    rows: Rows = []
    for j in count(1):
        value = exact.bernoulli(2 * j) / factorial(2 * j)
        sizes = (_zeta_term(value, s, j, n) for s in range(-1, 2 * j // (n - 1) + 3))
        if j > 1 and max(sizes) * 2 ** (at.target + 5) < 1:
            return rows[::-1]
        rows.append(value)
    raise AssertionError


def _zeta_term(value: Fraction, s: int, j: int, n: int) -> Fraction:
    """A bound of the term of order j for arguments from s to s + 1: its rising factor at s + 1 over nˢ⁺²ʲ⁻¹."""
    rising = Fraction(1)
    for k in range(2 * j - 1):
        rising *= max(1, s + 1 + k)
    return abs(value) * rising / Fraction(n) ** (s + 2 * j - 1)


def _bessel(at: Accuracy) -> Rows:
    """For |x| <= 8, where the greatest of the terms is 2^9: the bound is of the first one, 1, and 10 bits more make up
    for values near 0.
    """
    return polynomial(lambda k: Fraction((-16) ** k, factorial(k) ** 2), Fraction(1), at.target + 10)


def _hankel(odd: int) -> Callable[[Accuracy], Rows]:
    """Every other one of a(k) / far^k, a(k) = ((2k - 1)!!)² / (k! 8^k): the error is below the first term left out."""

    def rows(at: Accuracy) -> Rows:
        terms: Rows = []
        value = Fraction(1)
        for k in count():
            if k % 2 == odd:
                if value * 2 ** (at.target + 10) < 1:
                    return terms[::-1]
                terms.append(_alternating(value, k // 2 + odd))
            value *= Fraction((2 * k + 1) ** 2, 8 * (k + 1) * at.far)
        raise AssertionError

    return rows


def _primes(at: Accuracy) -> Iterator[int]:
    return (k for k in range(2, at.powers + 1) if exact.least_factor(k) == k)


def _constant(value: Callable[[], Fraction]) -> Callable[[Accuracy], Rows]:
    return lambda at: [value()]


NUMBERS: dict[str, Callable[[Accuracy], Rows]] = {
    "exp_table": _exp, "atanh_table": _atanh, "atan_table": _atan, "sin_table": _sin, "cos_table": _cos,
    "erf_table": _erf, "gauss_table": _gauss, "stirling_table": _stirling, "lgamma_table": _lgamma,
    "zeta_table": _zeta, "bessel_table": _bessel, "hankel_even_table": _hankel(0), "hankel_odd_table": _hankel(1),
    "arcs_table": lambda at: exact.arcs(16),
    "log_prime_table": lambda at: [exact.log(p) for p in _primes(at)],
    "ln2_table": _constant(lambda: exact.log(2)),
    "pi_table": _constant(exact.pi),
    "half_pi_table": _constant(lambda: exact.pi() / 2),
    "two_pi_table": _constant(lambda: 2 * exact.pi()),
    "root_pi_table": _constant(lambda: exact.root(exact.pi())),
    "log_two_pi_table": _constant(lambda: exact.log_fraction(2 * exact.pi())),
    "log_root_two_pi_table": _constant(lambda: exact.log_fraction(2 * exact.pi()) / 2),
}  # fmt: skip
"""Tables of numbers by name: their rows."""


def _turn_bits(at: Accuracy) -> list[int]:
    """The bits of 1 / (2 pi) as integers of 32, behind as many zeros as an argument's fraction has integers."""
    largest = 32 if at.precision > 24 else 4
    bits = 32 * (at.limbs + largest + 2)
    value = exact.pi(bits + 64)
    whole = (value.denominator << bits) // (2 * value.numerator)
    return [0] * at.limbs + [whole >> (bits - 32 * (j + 1)) & 0xFFFFFFFF for j in range(bits // 32)]


INTEGERS: dict[str, tuple[str, Callable[[Accuracy], list[int]]]] = {
    "turn_bits": ("uint", _turn_bits),
    "factor_table": ("int", lambda at: [0, 1, *(exact.least_factor(k) for k in range(2, at.powers + 1))]),
}
"""Tables of integers by name: their C type and their entries."""
