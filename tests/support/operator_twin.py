"""Operators computed in NumPy, on structured arrays of accumulators, beside NumPy's own results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Node, Record, Symbol, components, rebuild
from clmapreduce.primitives.host import finished, merged
from clmapreduce.reductions import Bound, Operator, operator

PAIR = np.dtype([("a", "i8"), ("b", "i8")])


class Twin:
    """A bound operator computed on structured arrays of accumulators."""

    def __init__(self, bound_operator: Bound) -> None:
        self.bound = bound_operator

    def identity(self, count: int = 1) -> Any:
        return np.array([tuple(c.identity for c in self.bound.components)] * count, self.bound.layout)

    def absorb(self, acc: Any, values: Sequence[Any], places: Sequence[int] | None = None) -> Any:
        """One value per accumulator for each array in `values`, in order."""
        symbols = self._symbols()
        inputs = [self._value(f"v{k}") for k in range(len(values))]
        indices = [Symbol(f"i{k}", np.dtype("i8")) for k in range(len(values))]
        result = self.bound.absorb(symbols, inputs, indices)
        node_values = self._values_of(symbols, acc)
        for symbol, array in zip(inputs, values, strict=True):
            array = array if array.dtype.names else array.astype(self.bound.value)
            node_values |= {n: array[name] if name else array for name, n in components(symbol).items()}
        node_values |= dict(zip(indices, places if places is not None else range(len(values)), strict=True))
        return self._store(result, node_values, len(acc))

    def merge(self, a: Any, b: Any) -> Any:
        left, right = self._symbols(), self._symbols()
        return self._store(self.bound.merge(left, right), self._values_of(left, a) | self._values_of(right, b), len(a))

    def singles(self, values: Any) -> Any:
        """One accumulator per value."""
        parts = [self.absorb(self.identity(), [values[k : k + 1]], [k]) for k in range(len(values))]
        return np.concatenate([self.identity()[:0], *parts])

    def reduce(self, values: Any) -> Any:
        return finished(self.bound, merged(self.bound, self.singles(values)))[()]

    def finish(self, acc: Any) -> Any:
        return finished(self.bound, acc)[()]

    def results(self, acc: Any) -> Any:
        """The result of each of several accumulators."""
        symbols = self._symbols()
        node = self.bound.finish(symbols)
        assert isinstance(node, Node)
        return evaluate(node, self._values_of(symbols, acc))

    def _symbols(self) -> Record:
        return Record({c.name: Symbol(c.name, c.dtype) for c in self.bound.components})

    def _value(self, name: str) -> Any:
        dtype = self.bound.value
        return rebuild({part: Symbol(name, dtype[part] if part else dtype) for part in dtype.names or ("",)})

    def _values_of(self, symbols: Record, acc: Any) -> dict[Node, Any]:
        return {node: acc[name] for name, node in symbols.items()}

    def _store(self, result: Record, node_values: dict[Node, Any], count: int) -> Any:
        records = np.empty(count, self.bound.layout)
        for name, node in result.items():
            records[name] = evaluate(node, node_values)
        return records


def twin(name: str | Operator, code: Any, accumulate: Any = "auto", fp64: bool = True) -> Twin:
    return Twin(operator(name).bind(np.dtype(code), accumulate, fp64))


def sample(code: str, count: int, seed: int = 1) -> Any:
    """Values of both signs, some equal, some zero; products of 12 of them stay in range."""
    numbers = np.random.default_rng(seed)
    dtype = np.dtype(code)
    if dtype.kind == "b":
        return numbers.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        return numbers.integers(0 if dtype.kind == "u" else -3, 4, count).astype(dtype)
    real = numbers.normal(size=count).round(2)
    return (real + 1j * numbers.normal(size=count)).astype(dtype) if dtype.kind == "c" else real.astype(dtype)


def numpys(name: str, values: Any) -> Any:
    """NumPy's own result, in a wider dtype where it computes narrowly."""
    if name == "logsumexp":
        with np.errstate(all="ignore"):
            return np.logaddexp.reduce(values.astype(np.float64))
    if name == "norm":
        return np.linalg.norm(values.astype(np.complex128) if values.dtype.kind == "c" else values.astype(np.float64))
    if name in ("mean", "var", "std") and values.dtype.kind == "f":
        return getattr(np, name)(values.astype(np.float64))
    own = {"sum": np.sum, "product": np.prod, "minimum": np.min, "maximum": np.max}.get(name) or getattr(np, name)
    wide = {"f": np.float64, "c": np.complex128}.get(values.dtype.kind) if name in ("sum", "product") else None
    return own(values, dtype=wide) if wide else own(values)


def assert_close(actual: Any, expected: Any, terms: int = 16) -> None:
    """Equal; floats to the rounding of as many operations in their own dtype."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.dtype.kind in "fc":
        eps = np.finfo(actual.dtype).eps
        np.testing.assert_allclose(actual, expected.astype(actual.dtype), rtol=terms * eps, atol=terms * eps)
    else:
        np.testing.assert_array_equal(actual, expected)
