"""Constants as fractions, from Python's integers alone: off by at most 2^-460."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import factorial, isqrt

BITS = 640


def _arc(x: Fraction, sign: int, bits: int) -> Fraction:
    """Σ signᵏ x²ᵏ⁺¹ / (2k + 1): atan x for sign -1, atanh x for 1; |x| at most 1/2."""
    power = (x.numerator << bits) // x.denominator
    total, k = 0, 0
    while power:
        total += power // (2 * k + 1) * sign**k
        power = power * x.numerator**2 // x.denominator**2
        k += 1
    return Fraction(total, 1 << bits)


@lru_cache(maxsize=8)
def pi(bits: int = BITS) -> Fraction:
    """π by Machin's formula, off by at most 2^(16 - bits)."""
    return 16 * _arc(Fraction(1, 5), -1, bits) - 4 * _arc(Fraction(1, 239), -1, bits)


@lru_cache(maxsize=256)
def log(n: int) -> Fraction:
    """log n of a whole number: log n = log(n² - 1) / 2 + atanh(1 / (2 n² - 1)), and logarithms of factors."""
    if n == 1:
        return Fraction(0)
    if n == 2:
        parts = ((18, 26), (-2, 4801), (8, 8749))
        return sum((k * _arc(Fraction(1, m), 1, BITS) for k, m in parts), Fraction(0))
    factor = least_factor(n)
    if factor < n:
        return log(factor) + log(n // factor)
    return (log(n - 1) + log(n + 1)) / 2 + _arc(Fraction(1, 2 * n * n - 1), 1, BITS)


def log_fraction(x: Fraction) -> Fraction:
    """log x, x at least 1: that of the nearest whole number, and a series for the rest."""
    whole = round(x)
    return log(whole) + 2 * _arc((x - whole) / (x + whole), 1, BITS)


def least_factor(n: int) -> int:
    """The least prime that divides n, n >= 2."""
    return next(k for k in range(2, n + 1) if n % k == 0)


@lru_cache(maxsize=256)
def exp_negative(x: Fraction) -> Fraction:
    """e^-x for 0 <= x < 1000: the Taylor series of x / 1024, squared ten times."""
    step = (x.numerator << BITS) // (x.denominator << 10)
    one = 1 << BITS
    total, term, k = one, one, 0
    while term:
        k += 1
        term = term * step // (k * one)
        total += -term if k % 2 else term
    for _ in range(10):
        total = total * total >> BITS
    return Fraction(total, one)


@lru_cache(maxsize=2)
def arcs(parts: int) -> list[Fraction]:
    """atan(j / parts) for j from 0 to `parts`, each from the one before it."""
    angles = [Fraction(0)]
    for j in range(1, parts + 1):
        angles.append(angles[-1] + _arc(Fraction(parts, parts * parts + j * (j - 1)), -1, BITS))
    return angles


def root(x: Fraction) -> Fraction:
    """The square root of a fraction of about 1."""
    return Fraction(isqrt((x.numerator << 2 * BITS) // x.denominator), 1 << BITS)


@lru_cache(maxsize=512)
def bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n, n even and at least 2, exact: n T / (2^n (2^n - 1)) by the tangent number T."""
    k = n // 2
    return Fraction((-1) ** (k - 1) * n * _tangents(128 if k <= 128 else k)[k - 1], 2**n * (2**n - 1))


@lru_cache(maxsize=4)
def _tangents(count: int) -> list[int]:
    """The derivatives of odd order of the tangent at 0 (Brent and Harvey, 2011)."""
    numbers = [factorial(k) for k in range(count)]
    for k in range(1, count):
        for j in range(k, count):
            numbers[j] = (j - k) * numbers[j - 1] + (j - k + 2) * numbers[j]
    return numbers


@lru_cache(maxsize=1)
def euler_gamma() -> Fraction:
    """Euler's constant by the Euler-Maclaurin sum of 1/k up to 128."""
    n = 128
    total = sum((Fraction(1, k) for k in range(1, n + 1)), -log(n)) - Fraction(1, 2 * n)
    return total + sum((bernoulli(2 * k) / (2 * k * n ** (2 * k)) for k in range(1, 61)), Fraction(0))


@lru_cache(maxsize=512)
def zeta_less_one(s: int) -> Fraction:
    """ζ(s) - 1 for whole s >= 2, by the Euler-Maclaurin sum of k^-s up to 100."""
    n, one = 100, 1 << BITS
    total = sum(one // k**s for k in range(2, n)) + one // ((s - 1) * n ** (s - 1)) + one // (2 * n**s)
    rising = s
    for j in range(1, 61):
        term = bernoulli(2 * j) * rising / (factorial(2 * j) * n ** (s + 2 * j - 1))
        total += int(term * one)
        rising *= (s + 2 * j - 1) * (s + 2 * j)
    return Fraction(total, one)
