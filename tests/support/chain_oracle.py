"""What a chain of unfolds, maps, reduces, scans and partials gives: NumPy in extended precision, with a bound on rounding.

A chain is a tuple of (kind, name). Beside the five primitives there are two kinds of map behind a reduce: "one", of the reduced value, and "join",
of that value and of the vector that was reduced. Every number carries a bound on how far a device may be from it (running error analysis, Higham
2002, section 3.3), so that tolerances follow from dtypes, lengths and values alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from support.bounded_numbers import Bounded, Meaning, UnclearError, is_undecided, whole, with_rounding
from support.oracles import (
    UNIT64,
    logsumexp,
    logsumexp_tolerance,
    product_tolerance,
    scan_tolerance,
    tolerance,
    unit,
    wide,
)

Link = tuple[str, str]
Chain = tuple[Link, ...]

VECTOR = ("map", "scan", "reduce", "partials")
FOLLOWS: dict[str, tuple[str, ...]] = {
    "": ("unfold", *VECTOR),
    "unfold": VECTOR, "map": VECTOR, "scan": VECTOR, "join": VECTOR,
    "reduce": ("one", "join", "unfold"), "one": ("one", "join", "unfold"),
    "partials": (),
}  # fmt: skip
"""Which kind may follow which: vectors flow on, one value may be mapped, joined with its vector, or unfolded."""

SCALARS = ("reduce", "one")
"""The kinds that give one value for the line."""


def legal(length: int, start: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every legal sequence of `length` kinds."""
    if len(start) == length:
        yield start
        return
    for kind in FOLLOWS[start[-1] if start else ""]:
        yield from legal(length, (*start, kind))


# ---------------------------------------------------------------------------------------------------------- functions
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "square": lambda m, x: x * x + 1,
    "abs": lambda m, x: abs(x),
    "fold": lambda m, x: m.where(x < 0, -x, x + x),
    "squash": lambda m, x: x / (abs(x) + 1),
    "near one": lambda m, x: x / (abs(x) + 1) * 2.0**-17 + 1,
    "narrow": lambda m, x: (x / 7).astype(np.float32),
    "count": lambda m, x: m.floor((x / (abs(x) + 1)) * 8).astype(np.int32),
    "positive": lambda m, x: x > 0,
    "place": lambda m, x: x + (m.index % 5).astype(x.dtype),
    "turn": lambda m, x: m.where(m.index % 3 > 0, x, -x),
    "less": lambda m, s, x: x - s,
    "scale": lambda m, s, x: x / (abs(s) + 1),
    "top": lambda m, s, x: m.maximum(x, s),
    "closeness": lambda m, s, x: m.exp(-abs(x - s)),
}
"""The functions of maps: m holds where, maximum, exp, floor and index; s is the reduced value, x the vector's."""

NAMES: dict[str, tuple[str, ...]] = {
    "unfold": ("product", "sum", "minimum", "times"),
    "map": ("square", "abs", "fold", "squash", "near one", "narrow", "count", "positive", "place", "turn"),
    "one": ("square", "abs", "fold", "squash", "near one", "narrow"),
    "join": ("less", "scale", "top", "closeness"),
    "reduce": ("sum", "product", "minimum", "maximum", "argmin", "argmax", "logsumexp", "any", "first", "last"),
    "scan": ("sum", "maximum", "sum before", "product", "last", "first"),
    "partials": ("sum", "product", "maximum", "last"),
}
"""The operators and functions of every kind. first and last: of the values that are not 0, operators that do not commute."""


# -------------------------------------------------------------------------------------------------------------- steps
class Interpreter:
    """Runs chains over lines of `length`. fp64: whether the device has float64."""

    def __init__(self, length: int, fp64: bool = True) -> None:
        self.length, self.fp64 = length, fp64
        self._meaning = Meaning(length)

    def run(self, chain: Chain, line: Bounded) -> Bounded:
        """What a chain gives: a vector, one value (0-d), or for partials every prefix (length + 1 of them)."""
        current = self.start(line)
        for link in chain:
            current = self.step(link, *current)
        return current[0]

    def start(self, line: Bounded) -> tuple[Bounded, Bounded]:
        return line, line

    def step(self, link: Link, value: Bounded, behind: Bounded) -> tuple[Bounded, Bounded]:
        """(value, vector behind it) after a link. Raises UnclearError."""
        kind, name = link
        with np.errstate(all="ignore"):
            if kind == "reduce":
                result, behind = self._reduce(name, value), value
            elif kind == "scan":
                result = self._scan(name, value)
            elif kind == "partials":
                result = self._partials(name, value)
            elif kind == "unfold":
                result = self._unfold(name, value)
            else:
                result = FUNCTIONS[name](self._meaning, *((value, behind) if kind == "join" else (value,)))
        return _check(result, self.length), behind

    # ----------------------------------------------------------------------------------------------- reductions
    def _reduce(self, name: str, x: Bounded) -> Bounded:
        if name in ("sum", "product"):
            return self._total(name, x)
        if name in ("minimum", "maximum"):
            return _extremum(name, x)
        if name in ("argmin", "argmax"):
            return _place(name, x)
        if name == "logsumexp":
            return _log_sum_exp(x)
        is_clear = is_undecided(x.numbers, x.error) == 0
        if name == "any":
            sure = bool(((x.numbers != 0) & is_clear).any())
            if not sure and not is_clear.all():
                raise UnclearError("nothing is surely true")
            return Bounded.exact(np.bool_(sure))
        if not is_clear.all():
            raise UnclearError("what is 0 is open")
        places = np.flatnonzero(x.numbers != 0)
        if not places.size:
            return Bounded.exact(np.zeros((), x.dtype))
        return x.part(places[0 if name == "first" else -1])

    def _total(self, name: str, x: Bounded) -> Bounded:
        dtype = wide(x.dtype)
        if not x.floats:
            numbers = np.add.reduce(x.numbers) if name == "sum" else np.multiply.reduce(x.numbers)
            return Bounded(numbers, dtype, x.error.sum() if name == "sum" else whole(x.error).sum())
        if name == "sum":
            total, magnitude = x.numbers.sum(), (np.abs(x.numbers) + x.error).sum()
            return Bounded(
                total, dtype, x.error.sum() + tolerance(dtype, total, magnitude, x.numbers.size, fp64=self.fp64)
            )
        total = np.prod(x.numbers)
        own_error = np.abs(total) * np.expm1(np.log1p(x.error / np.abs(x.numbers)).sum())
        return _not_tiny(Bounded(total, dtype, own_error + product_tolerance(dtype, total, x.numbers.size, self.fp64)))

    def _scan(self, name: str, x: Bounded) -> Bounded:
        dtype = wide(x.dtype)
        if name == "sum before":
            upto = self._scan("sum", x)
            return Bounded(*(np.concatenate([[0], part[:-1]])[: self.length] for part in (upto.numbers,)), dtype,
                         np.concatenate([[0], upto.error[:-1]])[: self.length])  # fmt: skip
        if name == "maximum":
            numbers = np.maximum.accumulate(x.numbers)
            high, low = np.maximum.accumulate(x.numbers + x.error), np.maximum.accumulate(x.numbers - x.error)
            return Bounded(numbers, x.dtype, np.maximum(high - numbers, numbers - low))
        if name in ("first", "last"):
            if is_undecided(x.numbers, x.error).any():
                raise UnclearError("what is 0 is open")
            return _nonzero_values(name, x)
        ufunc = np.multiply if name == "product" else np.add
        numbers = ufunc.accumulate(x.numbers)
        if not x.floats:
            return Bounded(numbers, dtype, np.cumsum(x.error if name == "sum" else whole(x.error)))
        if name == "sum":
            magnitude = np.cumsum(np.abs(x.numbers) + x.error)
            return Bounded(numbers, dtype, np.cumsum(x.error) + scan_tolerance(dtype, numbers, magnitude, self.length))
        own_error = np.abs(numbers) * np.expm1(np.cumsum(np.log1p(x.error / np.abs(x.numbers))))
        return _not_tiny(Bounded(numbers, dtype, own_error + product_tolerance(dtype, numbers, self.length, fp64=False)))

    def _partials(self, name: str, x: Bounded) -> Bounded:
        upto = self._scan(name, x)
        first = {
            "product": 1,
            "maximum": -np.inf if x.floats else 0 if x.dtype.kind == "b" else np.iinfo(x.dtype).min,
        }.get(name, 0)
        numbers = np.concatenate([np.array([first], upto.numbers.dtype), upto.numbers])
        return Bounded(numbers, upto.dtype, np.concatenate([[0], upto.error]))

    def _unfold(self, name: str, base: Bounded) -> Bounded:
        n = self.length
        if name == "minimum":
            return Bounded(np.repeat(base.numbers, n), base.dtype, np.repeat(base.error, n))
        counts = np.arange(1, n + 1)
        if name == "sum":
            numbers, own_error = base.numbers * counts, base.error * counts
            if not base.floats:
                return with_rounding(numbers, own_error, base.dtype)
            return Bounded(
                numbers, base.dtype, own_error + tolerance(base.dtype, numbers, np.abs(numbers), n, fp64=self.fp64)
            )
        if not base.floats:
            whole(base.error)
            return with_rounding(np.multiply.accumulate(np.repeat(base.numbers, n)), np.zeros(n), base.dtype)
        numbers = base.numbers**counts
        own_error = np.abs(numbers) * np.expm1(counts * np.log1p(base.error / np.abs(base.numbers)))
        return _not_tiny(Bounded(numbers, base.dtype, own_error + product_tolerance(base.dtype, numbers, n, fp64=False)))


def _extremum(name: str, x: Bounded) -> Bounded:
    least = {"minimum": np.min, "maximum": np.max}[name]
    if not x.numbers.size:
        limit = np.inf if x.floats else 1 if x.dtype.kind == "b" else np.iinfo(x.dtype).max
        low = -np.inf if x.floats else 0 if x.dtype.kind == "b" else np.iinfo(x.dtype).min
        kind = np.longdouble if x.floats else np.int64
        return Bounded(np.array(limit if name == "minimum" else low, kind), x.dtype, np.zeros(()))
    best = least(x.numbers)
    return Bounded(best, x.dtype, np.maximum(least(x.numbers + x.error) - best, best - least(x.numbers - x.error)))


def _place(name: str, x: Bounded) -> Bounded:
    if not x.numbers.size:
        raise UnclearError("nothing has no place")
    numbers = x.numbers.astype(np.longdouble)  # holds every int64, and the negative of the lowest one
    cost = numbers if name == "argmin" else -numbers
    near = np.flatnonzero(cost - x.error <= (cost + x.error).min())
    if near.size > 1 and x.error[near].any():
        raise UnclearError("the best is open")
    return Bounded.exact(np.int64(np.argmin(cost)))


def _log_sum_exp(x: Bounded) -> Bounded:
    dtype = np.dtype({1: "f4", 2: "f4"}.get(x.dtype.itemsize, "f8")) if x.dtype.kind in "biu" else x.dtype
    x = x.astype(dtype)
    total = np.longdouble(logsumexp(x.numbers))
    own_error = (
        max(abs(logsumexp(x.numbers + s * x.error) - total) for s in (-1, 1)) if x.numbers.size else np.longdouble(0)
    )
    rounding = x.numbers.size * min(unit(dtype), UNIT64)  # of terms one after the other
    return Bounded(total, dtype, own_error + rounding + logsumexp_tolerance(dtype, total, x.numbers.size))


def _nonzero_values(name: str, x: Bounded) -> Bounded:
    """At every place the first, or the latest, value up to it that is not 0."""
    if not x.numbers.size:
        return x
    nonzero = x.numbers != 0
    if name == "last":
        at = np.maximum.accumulate(np.where(nonzero, np.arange(nonzero.size), 0))
    else:
        at = np.where(np.logical_or.accumulate(nonzero), np.argmax(nonzero), 0)
    values = x.part(at)
    none = ~np.logical_or.accumulate(nonzero)
    return Bounded(np.where(none, 0, values.numbers), x.dtype, np.where(none, 0, values.error))


def _not_tiny(product: Bounded) -> Bounded:
    if product.numbers.size and not (np.abs(product.numbers) > 1e-20).all():
        raise UnclearError("a product that vanishes")
    return product


def _check(result: Bounded, length: int) -> Bounded:
    """The result itself, where floats stay far from overflow; of empty lines also infinities."""
    if result.floats and length:
        limit = 1e30 if result.dtype.itemsize == 4 else 1e200
        inner = result.numbers[1:] if np.ndim(result.numbers) and result.numbers.size > length else result.numbers
        if not (np.abs(inner) < limit).all():
            raise UnclearError("an overflow")
    if length and not np.isfinite(result.error).all():
        raise UnclearError("an error that may be anything")
    return result


def choose_chain(
    kinds: Sequence[str], lines: Sequence[Bounded], interpreter: Interpreter, pick: Callable[[list[str]], str]
) -> Chain:
    """A chain of these kinds whose every step has a clear result on all lines; `pick` takes one of some names."""
    current = [interpreter.start(line) for line in lines]
    chain: list[Link] = []
    for kind in kinds:
        names = list(NAMES[kind])
        while names:
            name = pick(names)
            try:
                current = [interpreter.step((kind, name), *state) for state in current]
                break
            except UnclearError:
                names.remove(name)
        chain.append((kind, name))
    return tuple(chain)
