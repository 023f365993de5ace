"""The interface of a reduction operator: a monoid on accumulators, with a step before (absorb) and a step after
(finish).

A `ReductionOp` is the idea ("sum"); `bind(value dtype)` chooses accumulator and result types and gives a `Bound`
operator. Its three functions are traced formulas, so the same few lines render for any `lanes` and evaluate in NumPy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from clmapreduce.dtypes import DType, dtype_name, is_complex, record
from clmapreduce.errors import DTypeError
from clmapreduce.formula.content import HasContent
from clmapreduce.formula.functions import as_node
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.functions.snapshots import Internable

Accumulate: TypeAlias = Literal["auto", "fast", "compensated", "double"]


@dataclass(frozen=True)
class Component:
    """One named number of an accumulator, and its value in the identity."""

    name: str
    dtype: DType
    identity: Any


class Bound(HasContent, ABC):
    """An operator for one value dtype. Accumulators are `Record`s of the `components`.

    `closed`: a result is a value again, which may be combined with others. `locates`: the result is a place, so kernels
    keep a value and the number of the block it came from per lane, and search that block once at the end. `chain`: the
    most values one accumulator may absorb in a row before accuracy suffers; None for no limit. `places`: the components
    that hold the index of a value. `spreads`: values are records that formulas make of plain numbers, so that several
    lanes may hold them.
    """

    components: tuple[Component, ...]
    value: DType
    result: DType
    commutative: bool = True
    closed: bool = True
    locates: bool = False
    has_identity: bool = True
    chain: int | None = None
    places: tuple[str, ...] = ()
    spreads: bool = False

    @property
    def passed(self) -> tuple[Component, ...]:
        """What one stretch of a line passes on to the next."""
        return self.components

    @abstractmethod
    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        """`acc` with values folded in, in order. `indices` stand for the values' places."""

    def single(self, value: Value, index: Node) -> Record:
        """The accumulator of one value."""
        identity = Record({c.name: as_node(c.identity, c.dtype) for c in self.components})
        return self.absorb(identity, [value], [index])

    @abstractmethod
    def merge(self, a: Record, b: Record) -> Record:
        """The accumulator of a's values followed by b's."""

    @abstractmethod
    def finish(self, acc: Record) -> Value:
        """The result, of dtype `result`."""

    def of_float32(self) -> Bound | None:
        """The same operator of float32 values, for one of float16 that is more than its formulas; None for others."""
        return None

    @property
    def layout(self) -> DType:
        """How an accumulator lies in memory between launches."""
        return record({c.name: c.dtype for c in self.components})

    @property
    def vectorisable(self) -> bool:
        """Whether accumulators may have several lanes: order must not matter, and numbers must be plain."""
        dtypes = [self.value, *(c.dtype for c in self.components)]
        return self.commutative and all(d.names is None and not is_complex(d) for d in dtypes)

    def unfolded(self, base: Node, count: Node) -> Node | None:
        """base ∘ base ∘ … (`count` times) as a closed form of exact or better accuracy; None where there is none."""
        return None


class OneByOne(Bound):
    """An operator that absorbs values one by one: each as an accumulator of its own, which is merged."""

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        for value, index in zip(values, indices, strict=True):
            acc = self.merge(acc, self.single(value, index))
        return acc

    @abstractmethod
    def single(self, value: Value, index: Node) -> Record:
        """The accumulator of one value."""


class ReductionOp(Internable, ABC):
    """A reduction by name. `bind` raises DTypeError for values it cannot reduce."""

    name: str

    def key(self) -> Hashable | None:
        return self

    @abstractmethod
    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        """The operator for values of this dtype. `fp64`: whether the device computes float64."""

    def refuse(self, value: DType, why: str) -> DTypeError:
        return DTypeError(f"{self.name}: values of dtype {dtype_name(value)} {why}")


def wide_integer(dtype: DType) -> DType:
    """The 64-bit integer in which sums and products of integers and bools accumulate."""
    return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
