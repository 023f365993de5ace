"""What a chain of unfolds, maps, reduces, scans and partials gives: NumPy in extended precision, with a bound on rounding.

A chain is a tuple of (kind, name). Beside the five primitives there are two kinds of map behind a reduce: "one", of the reduced value, and "join",
of that value and of the vector that was reduced. Every number carries a bound on how far a device may be from it (running error analysis, Higham
2002, section 3.3), so that tolerances follow from dtypes, lengths and values alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
"""What may follow what: vectors flow on, one value may be mapped, joined with its vector, or unfolded."""

SCALARS = ("reduce", "one")
"""The kinds that give one value for the line."""


def legal(length: int, begun: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every legal sequence of `length` kinds."""
    if len(begun) == length:
        yield begun
        return
    for kind in FOLLOWS[begun[-1] if begun else ""]:
        yield from legal(length, (*begun, kind))


class UnclearError(Exception):
    """Rounding, overflow or a missing meaning leaves open what the result is; another operator must be chosen."""


# ------------------------------------------------------------------------------------------------------------ numbers
@dataclass(frozen=True, eq=False)
class Known:
    """Numbers (integers as int64, others as longdouble), the dtype a device gives them, and how far it may be off."""

    numbers: Any
    dtype: np.dtype
    error: Any

    @classmethod
    def exact(cls, x: Any) -> Known:
        """An array as it was given."""
        x = np.asarray(x)
        return cls(
            x.astype(np.longdouble if x.dtype.kind == "f" else np.int64), x.dtype, np.zeros(x.shape, np.longdouble)
        )

    @property
    def floats(self) -> bool:
        return self.dtype.kind == "f"

    def astype(self, dtype: Any) -> Known:
        """As a device converts: integers wrap, floats round."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        if dtype.kind == "f":
            digits = np.finfo(dtype).nmant + 1
            kept = not self.floats and bool((np.abs(self.numbers) < 2**digits).all())
            kept = kept or (self.floats and dtype.itemsize > self.dtype.itemsize)
            return _computed(self.numbers.astype(np.longdouble), self.error, dtype, 0 if kept else 1)
        if dtype.kind == "b":
            return Known((self.numbers != 0).astype(np.int64), dtype, _undecided(self.numbers, self.error))
        if self.floats and not (np.isfinite(self.numbers) & (np.abs(self.numbers) < np.iinfo(dtype).max)).all():
            raise UnclearError(f"out of range for {dtype}")
        return Known(np.asarray(self.numbers).astype(np.int64).astype(dtype).astype(np.int64), dtype, self.error)

    # ----------------------------------------------------------------------------------------------- arithmetic
    def _both(self, other: Any, least: Any = None) -> tuple[Known, Known]:
        """Both operands in NumPy's common dtype."""
        if isinstance(other, Known):
            dtype = np.result_type(self.dtype, other.dtype)
        else:
            dtype = np.result_type(np.empty(0, self.dtype), other)
            other = Known.exact(np.asarray(other, dtype))
        if least is not None and dtype.kind != "f":
            dtype = np.dtype(least)
        return self.astype(dtype), other.astype(dtype)

    def __add__(self, other: Any) -> Known:
        a, b = self._both(other)
        if a.dtype.kind == "b":
            raise UnclearError("bools have no sum of their own")
        return _computed(a.numbers + b.numbers, a.error + b.error, a.dtype)

    def __sub__(self, other: Any) -> Known:
        a, b = self._both(other)
        return a + -b

    def __mul__(self, other: Any) -> Known:
        a, b = self._both(other)
        error = np.abs(a.numbers) * b.error + np.abs(b.numbers) * a.error + a.error * b.error
        return _computed(a.numbers * b.numbers, error, a.dtype)

    def __truediv__(self, other: Any) -> Known:
        a, b = self._both(other, least=np.float64)
        room = np.abs(b.numbers) - b.error
        if not (room > 0).all():
            raise UnclearError("a division by what may be 0")
        found = a.numbers / b.numbers
        return _computed(found, (a.error + np.abs(found) * b.error) / room, a.dtype, 5)  # OpenCL: within 2.5 ulp

    def __mod__(self, other: int) -> Known:
        assert not self.floats
        return _computed(np.mod(self.numbers, other), _whole(self.error), self.dtype)

    def __neg__(self) -> Known:
        if self.dtype.kind == "b":
            raise UnclearError("a bool has no negative")
        if not self.floats:
            return _computed(-self.numbers, self.error, self.dtype)  # of the lowest integer itself
        return Known(-self.numbers, self.dtype, self.error)

    def __abs__(self) -> Known:
        if not self.floats:
            return _computed(np.abs(self.numbers), self.error, self.dtype)  # of the lowest integer itself
        return Known(np.abs(self.numbers), self.dtype, self.error)

    def _compared(self, other: Any, sign: Callable[[Any, Any], Any]) -> Known:
        a, b = self._both(other)
        apart = a.numbers - b.numbers
        return Known(sign(a.numbers, b.numbers).astype(np.int64), np.dtype(bool), _undecided(apart, a.error + b.error))

    def __lt__(self, other: Any) -> Known:
        return self._compared(other, operator.lt)

    def __gt__(self, other: Any) -> Known:
        return self._compared(other, operator.gt)

    __radd__, __rmul__ = __add__, __mul__

    def part(self, i: Any) -> Known:
        """Some of the numbers."""
        return Known(self.numbers[i], self.dtype, self.error[i])


def _computed(numbers: Any, error: Any, dtype: np.dtype, roundings: int = 1) -> Known:
    """A result of `dtype`, rounded so many times; integers wrap."""
    if dtype.kind != "f":
        return Known(np.asarray(numbers).astype(dtype).astype(np.int64), dtype, error)
    lost = roundings * (unit(dtype) * (np.abs(numbers) + error) + float(np.finfo(dtype).tiny))
    return Known(numbers, dtype, error + lost)


def _undecided(distance: Any, error: Any) -> Any:
    """1 where the sign of a distance, or whether it is 0, is lost in its error."""
    return ((np.abs(distance) <= error) & (error > 0)).astype(np.longdouble)


def _whole(error: Any) -> Any:
    if np.any(error):
        raise UnclearError("a remainder of what is not exact")
    return error


class Meaning:
    """What chains' functions call besides operators, on `Known` numbers."""

    def __init__(self, length: int) -> None:
        self.index = Known.exact(np.arange(length))

    @staticmethod
    def where(condition: Known, chosen: Known, otherwise: Known) -> Known:
        a, b = chosen._both(otherwise)
        picked = condition.numbers != 0
        numbers, error = np.where(picked, a.numbers, b.numbers), np.where(picked, a.error, b.error)
        other, its = np.where(picked, b.numbers, a.numbers), np.where(picked, b.error, a.error)
        return Known(
            numbers, a.dtype, np.where(condition.error > 0, np.maximum(error, np.abs(other - numbers) + its), error)
        )

    @staticmethod
    def maximum(a: Known, b: Known) -> Known:
        a, b = a._both(b)
        return Known(np.maximum(a.numbers, b.numbers), a.dtype, np.maximum(a.error, b.error))

    @staticmethod
    def exp(x: Known) -> Known:
        x = x.astype(x.dtype if x.floats else np.float64)
        found = np.exp(x.numbers)
        return _computed(found, found * np.expm1(x.error), x.dtype, 6)  # OpenCL: within 3 ulp

    @staticmethod
    def floor(x: Known) -> Known:
        low, high = np.floor(x.numbers - x.error), np.floor(x.numbers + x.error)
        found = np.floor(x.numbers)
        return Known(found, x.dtype, np.maximum(high - found, found - low))


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

    def run(self, chain: Chain, given: Known) -> Known:
        """What a chain gives: a vector, one value (0-d), or for partials every prefix (length + 1 of them)."""
        current = self.begun(given)
        for link in chain:
            current = self.step(link, *current)
        return current[0]

    def begun(self, given: Known) -> tuple[Known, Known]:
        return given, given

    def step(self, link: Link, value: Known, behind: Known) -> tuple[Known, Known]:
        """(value, vector behind it) after a link. Raises UnclearError."""
        kind, name = link
        with np.errstate(all="ignore"):
            if kind == "reduce":
                found, behind = self._reduced(name, value), value
            elif kind == "scan":
                found = self._scanned(name, value)
            elif kind == "partials":
                found = self._kept(name, value)
            elif kind == "unfold":
                found = self._unfolded(name, value)
            else:
                found = FUNCTIONS[name](self._meaning, *((value, behind) if kind == "join" else (value,)))
        return _checked(found, self.length), behind

    # ----------------------------------------------------------------------------------------------- reductions
    def _reduced(self, name: str, x: Known) -> Known:
        if name in ("sum", "product"):
            return self._total(name, x)
        if name in ("minimum", "maximum"):
            return _extremum(name, x)
        if name in ("argmin", "argmax"):
            return _place(name, x)
        if name == "logsumexp":
            return _log_sum_exp(x)
        decided = _undecided(x.numbers, x.error) == 0
        if name == "any":
            sure = bool(((x.numbers != 0) & decided).any())
            if not sure and not decided.all():
                raise UnclearError("nothing is surely true")
            return Known.exact(np.bool_(sure))
        if not decided.all():
            raise UnclearError("what is 0 is open")
        found = np.flatnonzero(x.numbers != 0)
        if not found.size:
            return Known.exact(np.zeros((), x.dtype))
        return x.part(found[0 if name == "first" else -1])

    def _total(self, name: str, x: Known) -> Known:
        dtype = wide(x.dtype)
        if not x.floats:
            numbers = np.add.reduce(x.numbers) if name == "sum" else np.multiply.reduce(x.numbers)
            return Known(numbers, dtype, x.error.sum() if name == "sum" else _whole(x.error).sum())
        if name == "sum":
            total, magnitude = x.numbers.sum(), (np.abs(x.numbers) + x.error).sum()
            return Known(
                total, dtype, x.error.sum() + tolerance(dtype, total, magnitude, x.numbers.size, fp64=self.fp64)
            )
        total = np.prod(x.numbers)
        carried = np.abs(total) * np.expm1(np.log1p(x.error / np.abs(x.numbers)).sum())
        return _not_tiny(Known(total, dtype, carried + product_tolerance(dtype, total, x.numbers.size, self.fp64)))

    def _scanned(self, name: str, x: Known) -> Known:
        dtype = wide(x.dtype)
        if name == "sum before":
            upto = self._scanned("sum", x)
            return Known(*(np.concatenate([[0], part[:-1]])[: self.length] for part in (upto.numbers,)), dtype,
                         np.concatenate([[0], upto.error[:-1]])[: self.length])  # fmt: skip
        if name == "maximum":
            numbers = np.maximum.accumulate(x.numbers)
            high, low = np.maximum.accumulate(x.numbers + x.error), np.maximum.accumulate(x.numbers - x.error)
            return Known(numbers, x.dtype, np.maximum(high - numbers, numbers - low))
        if name in ("first", "last"):
            if _undecided(x.numbers, x.error).any():
                raise UnclearError("what is 0 is open")
            return _held(name, x)
        ufunc = np.multiply if name == "product" else np.add
        numbers = ufunc.accumulate(x.numbers)
        if not x.floats:
            return Known(numbers, dtype, np.cumsum(x.error if name == "sum" else _whole(x.error)))
        if name == "sum":
            magnitude = np.cumsum(np.abs(x.numbers) + x.error)
            return Known(numbers, dtype, np.cumsum(x.error) + scan_tolerance(dtype, numbers, magnitude, self.length))
        carried = np.abs(numbers) * np.expm1(np.cumsum(np.log1p(x.error / np.abs(x.numbers))))
        return _not_tiny(Known(numbers, dtype, carried + product_tolerance(dtype, numbers, self.length, fp64=False)))

    def _kept(self, name: str, x: Known) -> Known:
        upto = self._scanned(name, x)
        first = {
            "product": 1,
            "maximum": -np.inf if x.floats else 0 if x.dtype.kind == "b" else np.iinfo(x.dtype).min,
        }.get(name, 0)
        numbers = np.concatenate([np.array([first], upto.numbers.dtype), upto.numbers])
        return Known(numbers, upto.dtype, np.concatenate([[0], upto.error]))

    def _unfolded(self, name: str, base: Known) -> Known:
        n = self.length
        if name == "minimum":
            return Known(np.repeat(base.numbers, n), base.dtype, np.repeat(base.error, n))
        counts = np.arange(1, n + 1)
        if name == "sum":
            numbers, carried = base.numbers * counts, base.error * counts
            if not base.floats:
                return _computed(numbers, carried, base.dtype)
            return Known(
                numbers, base.dtype, carried + tolerance(base.dtype, numbers, np.abs(numbers), n, fp64=self.fp64)
            )
        if not base.floats:
            _whole(base.error)
            return _computed(np.multiply.accumulate(np.repeat(base.numbers, n)), np.zeros(n), base.dtype)
        numbers = base.numbers**counts
        carried = np.abs(numbers) * np.expm1(counts * np.log1p(base.error / np.abs(base.numbers)))
        return _not_tiny(Known(numbers, base.dtype, carried + product_tolerance(base.dtype, numbers, n, fp64=False)))


def _extremum(name: str, x: Known) -> Known:
    least = {"minimum": np.min, "maximum": np.max}[name]
    if not x.numbers.size:
        limit = np.inf if x.floats else 1 if x.dtype.kind == "b" else np.iinfo(x.dtype).max
        low = -np.inf if x.floats else 0 if x.dtype.kind == "b" else np.iinfo(x.dtype).min
        kind = np.longdouble if x.floats else np.int64
        return Known(np.array(limit if name == "minimum" else low, kind), x.dtype, np.zeros(()))
    found = least(x.numbers)
    return Known(found, x.dtype, np.maximum(least(x.numbers + x.error) - found, found - least(x.numbers - x.error)))


def _place(name: str, x: Known) -> Known:
    if not x.numbers.size:
        raise UnclearError("nothing has no place")
    numbers = x.numbers.astype(np.longdouble)  # holds every int64, and the negative of the lowest one
    cost = numbers if name == "argmin" else -numbers
    near = np.flatnonzero(cost - x.error <= (cost + x.error).min())
    if near.size > 1 and x.error[near].any():
        raise UnclearError("the best is open")
    return Known.exact(np.int64(np.argmin(cost)))


def _log_sum_exp(x: Known) -> Known:
    dtype = np.dtype({1: "f4", 2: "f4"}.get(x.dtype.itemsize, "f8")) if x.dtype.kind in "biu" else x.dtype
    x = x.astype(dtype)
    total = np.longdouble(logsumexp(x.numbers))
    carried = (
        max(abs(logsumexp(x.numbers + s * x.error) - total) for s in (-1, 1)) if x.numbers.size else np.longdouble(0)
    )
    added = x.numbers.size * min(unit(dtype), UNIT64)  # of terms one after the other
    return Known(total, dtype, carried + added + logsumexp_tolerance(dtype, total, x.numbers.size))


def _held(name: str, x: Known) -> Known:
    """At every place the first, or the latest, value up to it that is not 0."""
    if not x.numbers.size:
        return x
    seen = x.numbers != 0
    if name == "last":
        at = np.maximum.accumulate(np.where(seen, np.arange(seen.size), 0))
    else:
        at = np.where(np.logical_or.accumulate(seen), np.argmax(seen), 0)
    held = x.part(at)
    none = ~np.logical_or.accumulate(seen)
    return Known(np.where(none, 0, held.numbers), x.dtype, np.where(none, 0, held.error))


def _not_tiny(found: Known) -> Known:
    if found.numbers.size and not (np.abs(found.numbers) > 1e-20).all():
        raise UnclearError("a product that vanishes")
    return found


def _checked(found: Known, length: int) -> Known:
    """The result itself, where floats stay far from overflow; of empty lines also what is infinite."""
    if found.floats and length:
        limit = 1e30 if found.dtype.itemsize == 4 else 1e200
        inner = found.numbers[1:] if np.ndim(found.numbers) and found.numbers.size > length else found.numbers
        if not (np.abs(inner) < limit).all():
            raise UnclearError("an overflow")
    if length and not np.isfinite(found.error).all():
        raise UnclearError("an error that may be anything")
    return found


def chosen(
    kinds: Sequence[str], lines: Sequence[Known], interpreter: Interpreter, pick: Callable[[list[str]], str]
) -> Chain:
    """A chain of these kinds whose every step has a clear result on all lines; `pick` takes one of some names."""
    current = [interpreter.begun(line) for line in lines]
    chain: list[Link] = []
    for kind in kinds:
        left = list(NAMES[kind])
        while left:
            name = pick(left)
            try:
                current = [interpreter.step((kind, name), *state) for state in current]
                break
            except UnclearError:
                left.remove(name)
        chain.append((kind, name))
    return tuple(chain)
