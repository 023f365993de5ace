"""The host's exact constants and coefficients beside mpmath; bounds on what series leave out. No device is needed."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from clmapreduce.dtypes import FLOAT32, FLOAT64, QD, QF
from clmapreduce.series.functions import exact
from clmapreduce.series.functions.accuracy import Accuracy
from clmapreduce.series.functions.catalogue import FUNCTIONS
from clmapreduce.series.functions.digits import Asked
from clmapreduce.series.functions.kernels import series_function
from clmapreduce.series.functions.tables import INTEGERS, NUMBERS, polynomial


def off(value: Fraction, expected: object) -> mpmath.mpf:
    return abs(mpmath.mpf(value.numerator) / value.denominator - expected)


def test_constants() -> None:
    with mpmath.workprec(700):
        bound = mpmath.mpf(2) ** -460
        pairs = [
            (exact.pi(), mpmath.pi), (exact.euler_gamma(), mpmath.euler), (exact.root(exact.pi()), mpmath.sqrt(mpmath.pi)),
            (exact.log_fraction(2 * exact.pi()), mpmath.log(2 * mpmath.pi)),
            *((exact.log(n), mpmath.log(n)) for n in (1, 2, 3, 31, 30, 97)),
            *((exact.exp_negative(Fraction(n, 7)), mpmath.exp(-mpmath.mpf(n) / 7)) for n in (0, 1, 8, 1100)),
            *((exact.zeta_less_one(s), mpmath.zeta(s) - 1) for s in (2, 3, 17, 120)),
            *((angle, mpmath.atan(mpmath.mpf(j) / 16)) for j, angle in enumerate(exact.arcs(16))),
        ]  # fmt: skip
        for value, expected in pairs:
            assert off(value, expected) < bound
    assert [exact.bernoulli(n) for n in (2, 4, 12)] == [Fraction(1, 6), Fraction(-1, 30), Fraction(-691, 2730)]
    for n in (60, 130, 300):
        assert exact.bernoulli(n) == Fraction(*mpmath.bernfrac(n))


@pytest.mark.parametrize("word", ["f4", "f8"])
@pytest.mark.parametrize("bits", [24, 54, 107, 201, 212])
def test_sums_leave_out_less_than_their_bound(bits: int, word: str) -> None:
    """At the ends of their ranges, where terms are greatest."""
    at = Accuracy(bits, np.dtype(word), 1)
    with mpmath.workprec(700):
        def value(name: str, x: object) -> mpmath.mpf:
            total = mpmath.mpf(0)
            for row in NUMBERS[name](at):
                total = total * x + mpmath.mpf(row.numerator) / row.denominator
            return total

        bound = mpmath.mpf(2) ** -at.target
        x, z, t, r = mpmath.log(2) / 2, mpmath.mpf("0.1716"), mpmath.mpf(1) / 32, mpmath.pi / 4
        near, large = mpmath.mpf(1) / 4, mpmath.mpf(at.shift)
        far, scaled = mpmath.mpf(at.far), mpmath.mpf(at.far)
        phase = [mpmath.besselj(0, far), mpmath.bessely(0, far)]
        turn, size = far - mpmath.pi / 4, mpmath.sqrt(mpmath.pi * far / 2)
        p = (phase[0] * mpmath.cos(turn) + phase[1] * mpmath.sin(turn)) * size
        q = (phase[1] * mpmath.cos(turn) - phase[0] * mpmath.sin(turn)) * size
        stirling = mpmath.loggamma(large) - (large - 0.5) * mpmath.log(large) + large - mpmath.log(2 * mpmath.pi) / 2
        for result, expected in (
            (value("exp_table", x), mpmath.expm1(x) / x), (value("exp_table", -x), mpmath.expm1(-x) / -x),
            (value("atanh_table", z**2), mpmath.atanh(z) / z), (value("atan_table", t**2), mpmath.atan(t) / t),
            (value("sin_table", r**2), mpmath.sin(r) / r), (value("cos_table", r**2), mpmath.cos(r)),
            (value("erf_table", 1), mpmath.erf(1)), (value("bessel_table", 1), mpmath.besselj(0, 8)),
            (value("lgamma_table", near), mpmath.loggamma(2 + near) / near),
            (value("lgamma_table", -near), mpmath.loggamma(2 - near) / -near),
            (value("hankel_even_table", far / scaled), p), (value("hankel_odd_table", 1), q),
            (value("stirling_table", large**-2) / large, stirling),
        ):  # fmt: skip
            assert abs(result - expected) < bound, (result, expected)


def test_more_terms_for_more_bits() -> None:
    counts = [len(polynomial(lambda k: Fraction(1, 2**k), Fraction(1, 2), bits)) for bits in (10, 20, 40)]
    assert counts == [7, 12, 22]


def test_the_bits_of_a_turn() -> None:
    """Behind as many zeros as the fraction of a turn has integers; enough of them for the largest exponent."""
    for word, largest in (("f4", 128), ("f8", 1024)):
        at = Accuracy(53, np.dtype(word), 1)
        bits = INTEGERS["turn_bits"][1](at)
        assert bits[: at.limbs] == [0] * at.limbs
        assert len(bits) > (largest - at.precision + 32 * at.limbs) // 32 + at.limbs + 1
        value = sum(Fraction(n, 2 ** (32 * (j + 1))) for j, n in enumerate(bits[at.limbs :]))
        with mpmath.workprec(3000):
            assert mpmath.mpf(1) / (2 * mpmath.pi) - mpmath.mpf(value.numerator) / value.denominator >= 0
            assert off(value, 1 / (2 * mpmath.pi)) < mpmath.mpf(2) ** (-32 * (len(bits) - at.limbs))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tables_fit_constant_memory(name: str) -> None:
    """OpenCL promises 64 KiB. The most words: four words in, four out."""
    for goal, argument in ((Asked(QD, 212, FLOAT64), QD), (Asked(QF, 96, FLOAT32), QF), (Asked(FLOAT64, 53, FLOAT64), QD)):
        content = series_function(name, goal, argument)
        size = sum(len(table.numbers) * (goal.word.itemsize if table.ctype == "real" else 4) for table in content.tables)
        assert size <= 1 << 16, (name, goal, size)
        for table in content.tables:
            assert table.rows and all("inf" not in number and "nan" not in number for number in table.numbers)
