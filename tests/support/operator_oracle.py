"""What a kernel does with an operator for pairs, in NumPy: rows side by side, columns in tiles and groups, splits merged.

And dense NumPy in float64 as the oracle of every reduction over pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Node, Record, Symbol
from clmapreduce.reductions.pairs import PairBound

INT64 = np.dtype(np.int64)
Acc = dict[str, Any]


class Walk:
    """A bound operator computed on rows of numbers. Every row is a lane: a rare step of one is done to all."""

    def __init__(self, operator: PairBound, index: Any = np.int32) -> None:
        self.bound = operator
        self._index = np.dtype(index)
        self.own = Walk(operator.block, index) if operator.block is not None else self
        self.adjusted = self.merges = 0
        self._trace_once = lru_cache(maxsize=None)(self._trace)

    def identity(self, rows: int) -> Acc:
        return {c.name: np.full(rows, c.identity, c.dtype) for c in self.bound.components}

    def columns(
        self, numbers: Any, rng: Any, *, begin: int = 0, end: int | None = None, tile: int = 64, group: int = 4
    ) -> Acc:
        """The accumulators of columns begin … end. numbers: (width + weights, rows, columns), as the formula gives them.

        Tiles and groups at the end are shorter, the last of a tile by chance even more.
        """
        end = numbers.shape[2] if end is None else end
        multiples = self.scale_numbers(numbers)
        acc = self.identity(numbers.shape[1])
        while begin < end:
            stop = min(begin + tile, end)
            acc = self._tile(acc, multiples, begin, stop, group, rng)
            begin = stop
        return acc

    def scale_numbers(self, numbers: Any) -> Any:
        if self.bound.scale == 1:
            return numbers
        factors = np.where(np.arange(len(numbers)) < self.bound.width, self.bound.scale, 1)
        with np.errstate(all="ignore"):
            return numbers.astype(self.bound.value) * factors.astype(self.bound.value)[:, None, None]

    def _tile(self, acc: Acc, numbers: Any, begin: int, end: int, group: int, rng: Any) -> Acc:
        own = self.own
        part = self.call("seed", acc) if own is not self else acc
        while begin < end:
            stop = min(begin + (group if end - begin >= group else int(rng.integers(1, end - begin + 1))), end)
            part = own.group(part, numbers[:, :, begin:stop], range(begin, stop))
            begin = stop
        return part if own is self else self.merge(acc, self.call("widened", part, block=True))

    def group(self, acc: Acc, numbers: Any, indices: Sequence[int]) -> Acc:
        if self.bound.rare:
            acc = self._rarely(acc, numbers, indices)
        return self.call("absorb", acc, numbers, indices)

    def _rarely(self, acc: Acc, numbers: Any, indices: Sequence[int]) -> Acc:
        rare = self.call("rarely", acc, numbers)[""]
        if not np.any(rare):
            return acc
        if self.bound.one_by_one and len(indices) > 1:
            for k, index in enumerate(indices):
                acc = self._rarely(acc, numbers[:, :, k : k + 1], [index])
            return acc
        self.adjusted += 1
        new = self.call("adjust", acc, numbers, indices)
        for name, old in acc.items():
            np.testing.assert_array_equal(np.where(rare, 0, new[name]), np.where(rare, 0, old))
        return new

    def merge(self, a: Acc, b: Acc) -> Acc:
        self.merges += 1
        nodes, left, right = self._trace_once("merge", 0, False)
        return self._evaluate(nodes, {left[n]: a[n] for n in left} | {right[n]: b[n] for n in right})

    def tree(self, accs: Sequence[Acc], rng: Any) -> Acc:
        """The accumulators of splits merged: in any order if the operator lets us, else neighbours in any order."""
        accs = list(accs)
        while len(accs) > 1:
            at = int(rng.integers(len(accs) - 1))
            other = int(rng.integers(len(accs) - 1)) if self.bound.commutative else at
            a = accs.pop(at)
            b = accs.pop(other)
            accs.insert(at if not self.bound.commutative else 0, self.merge(a, b))
        return accs[0]

    def finish(self, acc: Acc, count: int) -> list[Any]:
        """Each output, of shape (rows, *shape)."""
        symbols, number = self._symbols(self.bound), Symbol("count", INT64)
        node_values = {symbols[n]: acc[n] for n in symbols} | {number: np.int64(count)}
        results = []
        for output, nodes in zip(self.bound.outputs, self.bound.finish_pairs(symbols, number), strict=True):
            assert len(nodes) == np.prod(output.shape) and {node.dtype for node in nodes} == {output.dtype}
            rows = len(next(iter(acc.values())))
            parts = [np.broadcast_to(evaluate(node, node_values), rows) for node in nodes]
            results.append(np.stack(parts, -1).reshape(-1, *output.shape).astype(output.dtype))
        return results

    def call(self, name: str, acc: Acc, numbers: Any = None, indices: Sequence[int] = (), block: bool = False) -> Acc:
        count = 0 if numbers is None else numbers.shape[2]
        nodes, symbols, (values, places) = self._trace_once(name, count, block)
        node_values = {symbols[n]: acc[n] for n in symbols}
        for k, value in enumerate(values):
            node_values |= {symbol: numbers[d, :, k] for d, symbol in enumerate(value)}
        node_values |= {place: self._index.type(i) for place, i in zip(places, indices, strict=False)}
        return self._evaluate(nodes, node_values)

    def _trace(self, name: str, count: int, block: bool) -> tuple[dict[str, Node], Record, Any]:
        operator = self.bound
        own = operator.block if block else operator
        assert own is not None
        symbols = self._symbols(own)
        if name == "merge":
            other = self._symbols(own)
            return dict(operator.merge(symbols, other)), symbols, other
        width = operator.width + operator.weights
        values = [tuple(Symbol(f"v{k}_{d}", operator.value) for d in range(width)) for k in range(count)]
        places = [Symbol(f"i{k}", self._index) for k in range(count)]
        arguments: list[Any] = {"rarely": [values], "seed": [], "widened": []}.get(name, [values, places])
        result = getattr(operator, name)(symbols, *arguments)
        if name != "rarely":
            target = operator.block if name == "seed" else operator
            assert target is not None
            assert {n: node.dtype for n, node in result.items()} == {c.name: c.dtype for c in target.components}
        return ({"": result} if isinstance(result, Node) else dict(result)), symbols, (values, places)

    def _evaluate(self, nodes: dict[str, Node], node_values: dict[Node, Any]) -> Acc:
        memo: dict[int, Any] = {}
        rows = max(np.size(value) for value in node_values.values())
        return {n: np.broadcast_to(evaluate(node, node_values, memo), rows).astype(node.dtype) for n, node in nodes.items()}

    @staticmethod
    def _symbols(operator: PairBound) -> Record:
        return Record({c.name: Symbol(c.name, c.dtype) for c in operator.components})


def reduce_numbers(
    operator: PairBound, numbers: Any, rng: Any, *, splits: int = 1, tile: int = 64, group: int = 4, index: Any = np.int32
) -> list[Any]:
    """Every output of a whole reduction of numbers (width + weights, rows, columns)."""
    walk, count = Walk(operator, index), numbers.shape[2]
    cuts = np.sort(rng.integers(0, count + 1, splits - 1)).tolist()
    ends = [*cuts, count]
    accs = [
        walk.columns(numbers, rng, begin=begin, end=end, tile=tile, group=group)
        for begin, end in zip([0, *cuts], ends, strict=True)
    ]
    return walk.finish(walk.tree(accs, rng), count)


# ---------------------------------------------------------------------------------------------------------- the oracle
def dense(name: str, values: Any, weights: Any, k: int = 0) -> list[Any]:
    """The reduction `name` by NumPy in float64. values (width, rows, columns), weights (number, rows, columns)."""
    f, w = values.astype(np.float64), weights.astype(np.float64)
    with np.errstate(all="ignore"):
        if name in ("Min", "Max", "ArgMin", "ArgMax", "Min_ArgMin", "Max_ArgMax"):
            best, place = _extremum(f, largest="Max" in name)
            return {"M": [best], "A": [place]}[name[0]] if "_" not in name else [best, place]
        if name in ("KMin", "ArgKMin", "KMin_ArgKMin"):
            least, places = _least(f, k)
            return {"KMin": [least], "ArgKMin": [places]}.get(name, [least, places])
        if name in _PLAIN:
            return [np.moveaxis(_PLAIN[name](f), 0, -1)]
        if name == "SumSoftMaxWeight_LogSumExp":
            return [_exponential("SumSoftMaxWeight", f, w), _exponential("LogSumExpWeight", f, np.ones_like(f))]
        return [_exponential(name, f, w)]


def _mean(f: Any) -> Any:
    return np.sum(f, -1) / f.shape[-1]


def _var(f: Any) -> Any:
    return np.sum((f - _mean(f)[..., None]) ** 2, -1) / np.float64(f.shape[-1])


_PLAIN: dict[str, Any] = {
    "Sum": lambda f: np.sum(f, -1), "Product": lambda f: np.prod(f, -1), "Mean": lambda f: np.sum(f, -1) / np.float64(f.shape[-1]),
    "Var": _var, "Std": lambda f: np.sqrt(_var(f)), "Any": lambda f: np.any(f != 0, -1), "All": lambda f: np.all(f != 0, -1),
    "LogSumExp": lambda f: np.logaddexp.reduce(f, -1) if f.shape[-1] else np.full(f.shape[:-1], -np.inf),
}  # fmt: skip


def _extremum(f: Any, largest: bool) -> tuple[Any, Any]:
    worst = -np.inf if largest else np.inf
    values = np.where(np.isnan(f), worst, f)
    best = np.max(values, -1, initial=worst) if largest else np.min(values, -1, initial=worst)
    place = np.zeros(f.shape[:2], int)
    if f.shape[-1]:
        place = np.where(best == worst, 0, np.argmax(values == best[..., None], -1))
    return best.T, place.T


def _least(f: Any, k: int) -> tuple[Any, Any]:
    values = np.concatenate([np.where(np.isnan(f), np.inf, f), np.full((*f.shape[:2], k), np.inf)], -1)
    places = np.argsort(values, -1, kind="stable")[..., :k]
    least = np.take_along_axis(values, places, -1)
    places = np.where(least == np.inf, 0, places)
    outputs = (np.moveaxis(a, 0, -1) for a in (least, places))
    least, places = (a[..., 0] if len(f) == 1 else a for a in outputs)
    return least, places


def _exponential(name: str, f: Any, w: Any) -> Any:
    f = f[0]
    top = np.max(np.where(np.isnan(f), -np.inf, f), -1, initial=-np.inf)
    shift = np.clip(top, np.finfo(np.float64).min, np.finfo(np.float64).max)
    power = np.exp(f - shift[:, None])
    plain, weighted_sum = np.sum(power, -1)[:, None], np.sum(power * w, -1).T
    nothing = top[:, None] == -np.inf
    if name == "LogSumExpWeight":
        return np.where(nothing, weighted_sum * 0 - np.inf, shift[:, None] + np.log(weighted_sum))
    if name == "SumSoftMaxWeight":
        return np.where(nothing, weighted_sum * 0, weighted_sum / plain)
    sums = plain if name == "Max_SumShiftExp" else weighted_sum
    return np.concatenate([top[:, None], sums], -1)
