"""The laws that a user's operator must obey, tried on sample values in NumPy: no device is needed.

Every mode groups values in its own way, pads with the identity and, where the operator says that it commutes, changes
their order. The result is the same in all of them if and only if

    combine(combine(a, b), c) = combine(a, combine(b, c))
    combine(identity, a) and combine(a, identity) stand for a
    combine(a, b) = combine(b, a), where the operator commutes

"Stand for" because an operator may bring its values to a normal form: the identity changes -3 under `(a + b) % 10`,
and no result of two values or more can tell. Floats are computed in float64 and may differ by the rounding of the
operator's own dtype. Values from which an operator computes no finite number are outside what it is for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from clmapreduce.dtypes import BOOL, COMPLEX128, FLOAT64, DType, Leaf, is_complex, is_float, leaf_view, leaves
from clmapreduce.errors import FormulaError
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Node, Record, Symbol, postorder
from clmapreduce.formula.text.source import is_source
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.laws.samples import plain_samples, record_samples

Values: TypeAlias = "dict[str, Any]"
"""One array per component of the accumulator, all of one length."""

LEAST = 2.0**-50
"""The least change of a float64 operand, relative to it, by a few roundings."""
_OUT = "; check=False leaves this check out, for an operator that holds for all values that you have"


def wide(dtype: DType) -> DType:
    """The same value with its floats as float64 and its complex numbers as complex128."""
    if dtype.names is not None:
        return np.dtype([(name, wide(dtype[name].base), dtype[name].shape) for name in dtype.names])
    return COMPLEX128 if is_complex(dtype) else FLOAT64 if is_float(dtype) else dtype


def check_laws(name: str, bound: Bound, parts: Mapping[str, Leaf], dtype: DType) -> None:
    """Raises FormulaError naming the law that is broken, and values that break it.

    bound: the operator for `wide(dtype)`. parts: the leaf of the value that each component is. An operator with
    OpenCL C of its own is not tried: the host cannot compute it.
    """
    laws = _Laws(name, bound, parts, dtype)
    if any(is_source(node) for node in laws.nodes):
        return
    x = laws.samples()
    laws.check_identity(x)
    if bound.commutative:
        laws.check_order(x)
    laws.check_grouping(x)


class NotAssociative(FormulaError):
    """The error for an operator that breaks the first law."""


def check_grouping(name: str, bound: Bound, parts: Mapping[str, Leaf], dtype: DType) -> None:
    """As `check_laws`, for the first law alone: of an operator whose identity stands for nothing."""
    laws = _Laws(name, bound, parts, dtype, way_out="")
    if not any(is_source(node) for node in laws.nodes):
        laws.check_grouping(laws.samples())


class _Laws:
    def __init__(
        self, name: str, bound: Bound, parts: Mapping[str, Leaf], dtype: DType, way_out: str = _OUT
    ) -> None:
        self.way_out = way_out
        self.name, self.bound, self.parts, self.dtype = f"operator {name}", bound, parts, dtype
        self.a, self.b = ({c.name: Symbol(c.name, c.dtype) for c in bound.components} for _ in range(2))
        self.result = bound.merge(Record(self.a), Record(self.b))
        self.nodes = list(postorder(list(self.result.values())))
        self.identity = {c.name: np.array([c.identity], c.dtype) for c in bound.components}
        self.own = {c: leaves(dtype)[leaf][0] for c, leaf in parts.items()}
        floats = [d for d in (*self.own.values(), *(node.dtype for node in self.nodes)) if d.kind in "fc"]
        roundings = 3 * len(self.nodes) * max((float(np.finfo(d).eps) for d in floats), default=0.0)
        self.tolerance = max(roundings, float(np.finfo(np.float64).eps) ** 0.5)

    def samples(self) -> Values:
        """The values to try, without the records that stand for nothing (see `samples`)."""
        if self.dtype.names is None:
            columns = [plain_samples(self.dtype)]
        else:
            dtypes, nothing = list(self.own.values()), [self.identity[c][0] for c in self.own]
            columns = record_samples(dtypes, nothing, self._independent(dtypes, nothing))
        x = {c: column.astype(self.a[c].dtype) for c, column in zip(self.a, columns, strict=True)}
        marked = np.zeros(len(columns[0]), bool)
        for c, own in self.own.items():
            if self.dtype.names is not None and own == BOOL:
                marked |= x[c] == self.identity[c]
        sides = [self._same(self.combined(*pair), x) for pair in ((self.identity, x), (x, self.identity))]
        return _at(x, np.flatnonzero(sides[0] & sides[1] | ~marked))

    def _independent(self, dtypes: list[DType], nothing: list[Any]) -> list[bool | None]:
        """Per field False where it changes with the others, None where it is a sum, else True: by what `combine` gives
        for positive fields, and for other ones beside the field.
        """
        x = dict(zip(self.own, record_samples(dtypes, nothing, [False] * len(dtypes)), strict=True))
        x = {c: part.astype(self.a[c].dtype) for c, part in x.items()}
        a, b = _pairs(x)
        first, second = ({c: np.roll(part, shift) for c, part in v.items()} for v, shift in ((a, 1), (b, 5)))
        combined = self.combined(a, b)
        answers: list[bool | None] = []
        for c in self.own:
            others = self.combined({**first, c: a[c]}, {**second, c: b[c]}, only=c)
            alone = np.array_equal(combined[c], others[c], equal_nan=True)
            answers.append(None if alone and np.array_equal(combined[c], a[c] + b[c]) else alone)
        return answers

    def check_identity(self, x: Values) -> None:
        """The identity before and after each of two values must not change what they give."""
        nothing = self.identity
        if not self._same(self.combined(nothing, nothing), nothing).all():
            self._refuse_identity("combine(identity, identity)", self.combined(nothing, nothing), 0, "")
        a, b = _pairs(x)
        ab = self.combined(a, b)
        for law, both in (
            ("combine(identity, a)", self.combined(nothing, a)), ("combine(a, identity)", self.combined(a, nothing)),
        ):  # fmt: skip
            for result, expected in ((self.combined(both, b), ab), (self.combined(b, both), self.combined(b, a))):
                wrong = ~self._same(result, expected, a, b) & _finite(expected)
                at = self._first(wrong, (both, b), (b, both))
                if at is not None:
                    self._refuse_identity(law, both, at, f" for a = {self._text(a, at)}")

    def _refuse_identity(self, law: str, value: Values, at: int, case: str) -> None:
        raise FormulaError(
            f"{self.name}: {self._text(self.identity, 0)} is not its identity, {law} is {self._text(value, at)}{case}; "
            f"give the value that changes no other{_OUT}"
        )

    def check_order(self, x: Values) -> None:
        """Two values must give the same in either order."""
        a, b = _pairs(x)
        ab, ba = self.combined(a, b), self.combined(b, a)
        wrong = ~self._same(ab, ba, a, b) & _finite(ab, ba)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise FormulaError(
                f"{self.name} does not commute: combine(a, b) is {self._text(ab, at)} and combine(b, a) is "
                f"{self._text(ba, at)} for a = {self._text(a, at)}, b = {self._text(b, at)}; "
                f"pass commutative=False{_OUT}"
            )

    def check_grouping(self, x: Values) -> None:
        """Three values must give the same however they are grouped."""
        count = _length(x)
        i, j, k = (np.ravel(at) for at in np.indices((count, count, count)))
        a, b, c = _at(x, i), _at(x, j), _at(x, k)
        pairs = self.combined(*_pairs(x))
        ab, bc = _at(pairs, i * count + j), _at(pairs, j * count + k)
        left, right = self.combined(ab, c), self.combined(a, bc)
        wrong = ~self._same(left, right, a, b, c, ab, bc) & _finite(ab, bc, left, right)
        at = self._first(wrong, (ab, c), (a, bc))
        if at is not None:
            values = ", ".join(f"{name} = {self._text(v, at)}" for name, v in (("a", a), ("b", b), ("c", c)))
            raise NotAssociative(
                f"{self.name} is not associative: combine(combine(a, b), c) is {self._text(left, at)} and "
                f"combine(a, combine(b, c)) is {self._text(right, at)} for {values}; the modes group values in "
                f"different ways, so that results would differ{self.way_out}"
            )

    def _first(self, wrong: Any, *operands: tuple[Values, Values]) -> int | None:
        """The first place where a law is broken, and not by rounding: next to a pole, where the least change of the
        last step's operands changes the result a lot, nothing can be said.
        """
        places = np.flatnonzero(wrong)
        sure = np.ones(len(places), bool)
        for pair in operands:
            a, b = (_at(v, places) for v in pair)
            exact, moved = self.combined(a, b), self.combined(_moved(a, 1 + LEAST), _moved(b, 1 - LEAST))
            sure &= self._same(_floats(moved), _floats(exact), a, b) if _floats(exact) else True
        return int(places[sure][0]) if sure.any() else None

    def combined(self, a: Values, b: Values, only: str | None = None) -> Values:
        """combine of every a and b; one of them may be a single value. only: the component to return."""
        values: dict[Node, Any] = {self.a[c]: a[c] for c in a} | {self.b[c]: b[c] for c in b}
        memo: dict[int, Any] = {}
        count = max(_length(a), _length(b))
        components = self.result.items() if only is None else [(only, self.result[only])]
        return {c: np.broadcast_to(evaluate(node, values, memo), (count,)) for c, node in components}

    def _same(self, result: Values, expected: Values, *operands: Values) -> Any:
        """Where two values are equal up to rounding, which is relative to the largest number that took part."""
        largest = np.zeros(1)
        for part in (part for value in (result, expected, *operands) for part in _floats(value).values()):
            largest = np.fmax(largest, np.where(np.isfinite(part), np.abs(part), 0))
        same = np.ones(_length(result), bool)
        with np.errstate(all="ignore"):
            for c, part in result.items():
                equal = part == expected[c]
                if part.dtype.kind in "fc":
                    equal = equal | (np.abs(part - expected[c]) <= self.tolerance * largest)
                    equal = equal | (np.isnan(part) & np.isnan(expected[c]))
                same &= equal
        return same

    def _text(self, values: Values, at: int) -> str:
        """One value as a user writes it."""
        value = np.zeros((), wide(self.dtype))
        for c, leaf in self.parts.items():
            leaf_view(value, leaf)[...] = values[c][at]
        if self.dtype.names is None:
            return repr(value.item())
        return "{" + ", ".join(f"{name!r}: {value[name].tolist()!r}" for name in self.dtype.names) + "}"


def _floats(values: Values) -> Values:
    return {c: part for c, part in values.items() if part.dtype.kind in "fc"}


def _moved(values: Values, factor: float) -> Values:
    return {c: part * factor if part.dtype.kind in "fc" else part for c, part in values.items()}


def _length(values: Values) -> int:
    return len(next(iter(values.values())))


def _pairs(x: Values) -> tuple[Values, Values]:
    """Every value with every value: place i * length + j holds x[i] and x[j]."""
    i, j = (np.ravel(at) for at in np.indices((_length(x), _length(x))))
    return _at(x, i), _at(x, j)


def _at(values: Values, places: Any) -> Values:
    return {c: part[places] for c, part in values.items()}


def _finite(*values: Values) -> Any:
    """Where all numbers are finite."""
    finite = np.True_
    for value in values:
        for part in value.values():
            finite = finite & np.isfinite(part)
    return finite
