"""Pairwise reductions on random arrays beside dense NumPy in float64, with how far rounding may lead away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.pairwise.call import PairCall, reduce_pairs
from clmapreduce.reductions import Operator
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions, pair_reduction
from clmapreduce.vector import Variable
from support.operator_oracle import dense
from support.pair_plans import vector
from support.random_blocks import Halves, columns_of, drawn_blocks

SIZES = [(1, 1), (31, 193), (193, 31)]
FEW = [(1, 4097), (5, 4500)]
"""Rows few enough and columns many enough for items to share rows, in both modes."""

K = 3
HALVES = ("f2", "bfloat16")
"""Floats of 16 bits, which are computed with as float32."""
OPERATORS = {
    "either": Operator(lambda a, b: a + b - a * b, 0.0, name="either"),
    "last": Operator(lambda a, b: a * 0 + b, 0.0, commutative=False, check=False, name="last"),
}
NAMES = [*PAIR_REDUCTIONS, *OPERATORS]

Numbers = Callable[[Any, Any, Any], Any]
"""x (…, M, 1, D), y (…, 1, N, D) and b (…, 1, N, 2) in float64 → the values to reduce, (…, M, N, width)."""


def _squares(x: Any, y: Any) -> Any:
    return ((x - y) ** 2).sum(-1, keepdims=True)


@dataclass(frozen=True)
class Formula:
    """A formula as KeOps writes it (D stands for the dimension) and as NumPy does. whole: whether of whole numbers, so
    that ties abound and every dtype is exact. weight: the weights' formula.
    """

    text: str
    numbers: Numbers
    whole: bool = False
    weight: str | None = None


_GAUSSIAN = Formula("Exp(-SqDist(x,y)*(0.5/D))*b", lambda x, y, b: np.exp(-_squares(x, y) * (0.5 / x.shape[-1])) * b)
_WHOLE = Formula("SqDist(x,y)*b", lambda x, y, b: _squares(x, y) * b, whole=True)
_ALONE = Formula("SqDist(x,y)", lambda x, y, b: _squares(x, y), whole=True)
_EXPONENT = Formula("-SqDist(x,y)/D*3", lambda x, y, b: -_squares(x, y) / x.shape[-1] * 3)
_WITH_WEIGHT = replace(_EXPONENT, weight="b*b")
FORMULAS: dict[str, Formula] = {
    **dict.fromkeys(("Sum", "Mean", "Var", "Std"), _GAUSSIAN),
    "Product": Formula("Exp((x|y)*(0.01/D))", lambda x, y, b: np.exp((x * y).sum(-1, keepdims=True) * (0.01 / x.shape[-1]))),
    **dict.fromkeys(("Min", "Max", "ArgMin", "ArgMax", "Min_ArgMin", "Max_ArgMax", "KMin_ArgKMin"), _WHOLE),
    "KMin": _ALONE, "ArgKMin": _ALONE, "last": _WHOLE,
    "Any": Formula("SqDist(x,y)<D", lambda x, y, b: (_squares(x, y) < x.shape[-1]).astype(float), whole=True),
    "All": Formula("SqDist(x,y)<40*D", lambda x, y, b: (_squares(x, y) < 40 * x.shape[-1]).astype(float), whole=True),
    "LogSumExp": _EXPONENT, "Max_SumShiftExp": _EXPONENT,
    **dict.fromkeys(("LogSumExpWeight", "SumSoftMaxWeight", "Max_SumShiftExpWeight"), _WITH_WEIGHT),
    "SumSoftMaxWeight_LogSumExp": _WITH_WEIGHT,
    "either": Formula("Exp(-SqDist(x,y)*(3/D))*0.1", lambda x, y, b: np.exp(-_squares(x, y) * (3 / x.shape[-1])) * 0.1),
}  # fmt: skip
SMOOTH = [name for name in NAMES if not FORMULAS[name].whole]


@dataclass(frozen=True)
class Case:
    """One reduction of one form. batch: leading axes of x, of y and b. centre: of the points. not_finite: how many
    coordinates are NaN or infinite. sparse: whether only blocks of pairs count, drawn for every size.
    """

    name: str
    dim: int = 3
    code: str = "f4"
    axis: int = 1
    backend: str = "auto"
    batch: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    centre: float = 0.0
    not_finite: int = 0
    sparse: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def formula(self) -> Formula:
        return FORMULAS[self.name]

    def call(self) -> tuple[PairCall, tuple[Variable, Variable, Variable]]:
        """The call, and the variables x, y and b."""
        aliases = (f"x=Vi(0,{self.dim})", f"y=Vj(1,{self.dim})", "b=Vj(2,2)")
        formula = vector(self.formula.text.replace("D", str(self.dim)).replace(f"Sq{self.dim}ist", "SqDist"), *aliases)
        weight = vector(self.formula.weight, *aliases) if self.formula.weight else None
        k = K if "KMin" in self.name else None
        reduction = pair_reduction(OPERATORS.get(self.name, self.name))
        options = PairOptions(k=k, **self.options)
        request = PairCall(formula, reduction, self.axis, weight, options, self.backend)
        return request, (Variable(0, self.dim, 0), Variable(1, self.dim, 1), Variable(2, 2, 1))

    def arrays(self, rng: np.random.Generator, rows: int, columns: int) -> tuple[Any, Any, Any]:
        """x, y and b for so many results and so many numbers each."""
        m, n = (rows, columns) if self.axis == 1 else (columns, rows)
        shapes = ((*self.batch[0], m, self.dim), (*self.batch[1], n, self.dim), (*self.batch[1], n, 2))
        if self.formula.whole:
            points = [rng.integers(-3, 4, shape).astype(float) for shape in shapes]
        else:
            points = [rng.normal(size=shape) for shape in shapes]
        x, y, b = (array.astype(self.code) for array in (points[0] + self.centre, points[1] + self.centre, points[2]))
        for array in (x, y):
            for _ in range(self.not_finite):
                array.reshape(-1)[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf])
        return x, y, b

    def check(self, rng: np.random.Generator, context: cm.Context, mode: str, sizes: Sequence[tuple[int, int]]) -> None:
        """One kernel, all sizes: shapes, dtypes and every number, in outputs full of other numbers."""
        call, variables = self.call()
        for rows, columns in sizes:
            if "KMin" in self.name:
                columns = max(columns, K)
            arrays = self.arrays(rng, rows, columns)
            arrays_of_call = {v: a for v, a in zip(variables, arrays, strict=True) if v in _read(call)}
            blocks = drawn_blocks(rng, rows, columns) if self.sparse else None
            ranges = None if blocks is None else Halves(self.axis, blocks)
            expected, tolerances = self.expected(*arrays, blocks)
            batch = np.broadcast_shapes(*self.batch)
            outs = [np.full((*batch, rows, *w.shape[1:]), -77, self._as_stored(w)) for w in expected]
            out = outs[0] if len(outs) == 1 else tuple(outs)
            reduce_pairs(call, arrays_of_call, Options(mode, context, out=out), ranges=ranges)
            case = f"{self}, {rows} of {columns}"
            for actual, exact, far in zip(outs, expected, tolerances, strict=True):
                compare(actual.reshape(-1, *exact.shape[1:]), exact, far, case)

    def _as_stored(self, expected: Any) -> Any:
        return expected.dtype if expected.dtype.kind in "ib" else np.dtype(self.code)

    def expected(self, x: Any, y: Any, b: Any, blocks: Any = None) -> tuple[list[Any], list[Any]]:
        """Every output, its batch and rows in one axis, and how far from it a result may be. blocks: the pairs that
        count; None counts all.
        """
        wide = [a.astype(float) for a in (x, y, b)]
        batch = np.broadcast_shapes(*self.batch)
        x, y, b = (np.broadcast_to(a, (*batch, *a.shape[-2:])).reshape(-1, *a.shape[-2:]) for a in wide)
        outputs, far = [], []
        for one in zip(x, y, b, strict=True):
            results, tolerances = self._one(*one, blocks)
            outputs.append(results)
            far.append(tolerances)
        return [np.concatenate(parts) for parts in zip(*outputs, strict=True)], [
            np.concatenate([np.broadcast_to(t, o.shape) for t, o in zip(ts, os, strict=True)])
            for ts, os in zip(zip(*far, strict=True), zip(*outputs, strict=True), strict=True)
        ]

    def _one(self, x: Any, y: Any, b: Any, blocks: Any) -> tuple[list[Any], list[Any]]:
        with np.errstate(all="ignore"):
            numbers = self.formula.numbers(x[:, None], y[None], b[None])
            weights = np.broadcast_to((b * b)[None], (*numbers.shape[:2], 2))
        if self.axis == 0:
            numbers, weights = numbers.swapaxes(0, 1), weights.swapaxes(0, 1)
        f, w = np.moveaxis(numbers, -1, 0), np.moveaxis(weights, -1, 0)
        if blocks is None:
            return self._reduce(f, w)
        parts = []
        for first, end, columns in columns_of(blocks):
            results, far = self._reduce(f[:, first:end, columns], w[:, first:end, columns], columns)
            parts.append((results, [np.broadcast_to(t, m.shape) for t, m in zip(far, results, strict=True)]))
        return tuple([np.concatenate(each) for each in zip(*side, strict=True)] for side in zip(*parts, strict=True))  # type: ignore[return-value]

    def _reduce(self, f: Any, w: Any, columns: Any = None) -> tuple[list[Any], list[Any]]:
        """The outputs and how far off they may be. columns: the indices of those in `f` and `w`."""
        if self.name == "last":
            last = f[..., -1] if f.shape[-1] else np.zeros(f.shape[:-1])
            results = [np.moveaxis(last, 0, -1)]
        elif self.name == "either":
            with np.errstate(all="ignore"):
                results = [np.moveaxis(1 - np.prod(1 - f, -1), 0, -1)]
        elif columns is None or "Arg" not in self.name:
            results = dense(self.name, f, w, K)
        else:
            results = self._places(f, w, columns)
        if self.formula.whole:  # as exact as memory holds them
            results = [each.astype(self._as_stored(each)) for each in results]
        return results, self._tolerances(results, f, w) if f.shape[-1] else [0.0 for _ in results]

    def _places(self, f: Any, w: Any, columns: Any) -> list[Any]:
        """The outputs of a reduction that gives places, where only some columns count."""
        both = {"ArgMin": "Min_ArgMin", "ArgMax": "Max_ArgMax", "ArgKMin": "KMin_ArgKMin"}.get(self.name, self.name)
        best, places = dense(both, f, w, K)
        if len(columns):  # what finds nothing better than the worst value gives place 0
            worst = -np.inf if "Max" in self.name else np.inf
            places = np.where(best == worst, 0, columns[np.minimum(places, len(columns) - 1)])
        return [best, places] if both == self.name else [places]

    def _tolerances(self, results: list[Any], f: Any, w: Any) -> list[Any]:
        """Bounds on rounding: a few units of every term, and more in proportion to its exponent; for sums added in
        blocks also a few units of the sum of absolute terms.
        """
        eps, count = float(np.finfo("f4" if self.code in HALVES else self.code).eps), f.shape[-1]
        if self.formula.whole:
            return [0.0 for _ in results]
        with np.errstate(all="ignore"):
            finite = np.where(np.isfinite(f), np.abs(f), 0)
            top = finite.max(-1, initial=0).T
            unit = 64 * eps
            near = {
                "Sum": lambda: unit * finite.sum(-1).T, "Mean": lambda: unit * finite.mean(-1).T,
                "Product": lambda: (4 * count + 64) * eps * np.abs(results[0]), "either": lambda: (count + 64) * eps,
                "Var": lambda: unit * (finite**2).mean(-1).T,
                "Std": lambda: np.minimum(np.sqrt(unit) * top, unit * (finite**2).mean(-1).T / results[0]),
                "LogSumExp": lambda: unit * (1 + top), "SumSoftMaxWeight": lambda: unit * (1 + top) * w.max(),
                "LogSumExpWeight": lambda: unit * (1 + top),
            }  # fmt: skip
            if self.name == "SumSoftMaxWeight_LogSumExp":
                each = [near["SumSoftMaxWeight"](), near["LogSumExp"]()]
            elif self.name in near:
                each = [near[self.name]()]
            else:
                each = [unit * (1 + top) * np.where(np.isfinite(results[0]), np.abs(results[0]), 0) + unit]
            if self.code in HALVES:
                numbers = ml_dtypes.finfo(self.code)
                eps, least = float(numbers.eps) / 2, float(numbers.smallest_subnormal) / 2
                each = [far + eps * np.abs(result) + least for far, result in zip(each, results, strict=True)]
        return each


def _read(call: PairCall) -> tuple[Variable, ...]:
    weights = call.weight.variables if call.weight is not None else ()
    return (*call.formula.variables, *weights)


def compare(actual: Any, expected: Any, far: Any, case: str) -> None:
    """Within `far`; NaN and infinities where they belong, whole numbers exactly."""
    assert actual.shape == expected.shape, (actual.shape, expected.shape, case)
    with np.errstate(all="ignore"):
        agrees = np.abs(actual.astype(float) - expected) <= far
        agrees |= (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    if not agrees.all():
        at = tuple(int(i) for i in np.argwhere(~agrees)[0])
        off = np.broadcast_to(far, expected.shape)[at]
        raise AssertionError(
            f"{case}: {(~agrees).sum()} of {agrees.size} differ, first {at}: {actual[at]} for {expected[at]}, within {off:.3g}"
        )
