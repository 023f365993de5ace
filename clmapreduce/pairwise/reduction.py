"""A reduction that is ready to be called: formula, operator and axis, with the arrays known so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.calls.explain import Explanation
from clmapreduce.calls.options import Options
from clmapreduce.checks import is_whole, quoted
from clmapreduce.dtypes import FLOAT32, INT32
from clmapreduce.errors import ModeError, ShapeError
from clmapreduce.pairwise.call import PairCall, ReadyPairs, ready_pairs, source_pairs
from clmapreduce.pairwise.guest import GuestArray
from clmapreduce.pairwise.inputs import Inputs
from clmapreduce.pairwise.options import PRECISION, check_count, keywords, reduction_name
from clmapreduce.pairwise.repeated import Repeated, repeated
from clmapreduce.pairwise.tables.places import check_places
from clmapreduce.pairwise.tiles.streamed import explained_tiles, reduced
from clmapreduce.ranges import as_ranges
from clmapreduce.reductions import Operator
from clmapreduce.reductions.pairs import PairOptions, PairReduction, pair_reduction, spec_of
from clmapreduce.vector.node import Variable, Vector
from clmapreduce.vector.tables import questions

Finish = Callable[[Any], Any]
REPEATED = frozenset({"backend", "ranges", *PRECISION})
"""Options with which a reduction is found by what it computes: words, and ranges, which have a cache of their own."""
WORDS = (str, bool, type, np.dtype, type(None))
"""Types of words. Other values, right or wrong, are left to the checks."""


class Reduced:
    """A callable reduction. Its arguments are one array per placeholder, in the order of their indices: (.., M, D) or
    (.., N, D) or (.., D). Its result is that of the reduction.

    Raises, at once, what does not depend on the arrays: unknown names and options, a wrong axis, weights
    missing or in excess, dimensions that the reduction does not take.
    """

    def __init__(
        self, reduction: str | Operator, axis: int, formula: Vector, inputs: Inputs, weight: Vector | None = None,
        k: int | None = None, options: Mapping[str, Any] | None = None, finish: Finish | None = None,
    ) -> None:  # fmt: skip
        if not is_whole(axis) or axis not in (0, 1):
            raise ShapeError(f"axis={quoted(axis)} is no axis to reduce; use 0 (over i) or 1 (over j)")
        self.reduction = _operator(reduction_name(reduction, weight is not None))
        self.axis, self.formula, self.weight = int(axis), formula, weight
        self.k = check_count(self.reduction.name, k)
        self.inputs, self.options, self.finish = inputs, dict(options or {}), finish
        self.options["ranges"] = as_ranges(self.options.get("ranges"))  # once, not at every call
        if inputs.unbound:
            self._pair_call(keywords(self.options))

    def __reduce__(self) -> Any:
        own = (spec_of(self.reduction), self.axis, self.formula, self.inputs, self.weight, self.k, self.options)
        return type(self), (*own, self.finish)

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """The result for these arrays. options: as of the reduction, whose own they replace. Raises FormulaError naming
        the variables that are left unbound, ShapeError and DTypeError naming those that do not fit; PlaceError for
        places outside of a checked table.
        """
        again = None if options else self._repeated(arrays)
        result = None if again is None else again.run()
        if result is None:
            call, inputs, settings = self._prepared(arrays, options)
            check_places(call, inputs, settings, self._run)
            result = self._run(call, inputs, settings)
            if again is not None:
                again.keep(_ready(call, inputs, settings))
        return result if self.finish is None else self.finish(result)

    def _repeated(self, arrays: Sequence[Any]) -> Repeated | None:
        """The place of this call among those that ran before; None where its options are others than LazyTensors and
        Genred have, or where its arrays are not all of the device.
        """
        if not self.options.keys() <= REPEATED or len(arrays) != len(self.inputs.unbound):
            return None
        words = [(name, value) for name, value in self.options.items() if name != "ranges"]
        if not all(isinstance(value, WORDS) for _, value in words):
            return None
        by_index = {slot.index: x for slot, x in zip(self.inputs.unbound, arrays, strict=True)}
        values = [by_index[slot.index] if slot.array is None else slot.array for slot in self.inputs.slots]
        what = (self.reduction, self.axis, self.formula, self.weight, self.k, *words)
        return repeated(what, values, self.options["ranges"])

    def _run(self, call: PairCall, inputs: Inputs, settings: Mapping[str, Any]) -> Any:
        """The results, before they are finished."""
        if settings["progress"] is None:
            repeated = ready_pairs(call, inputs.arrays, call_options(settings), settings["ranges"])
            if repeated is not None:
                return repeated.run(settings["wait_for"])
        guest = next((x for x in inputs.arrays.values() if isinstance(x, GuestArray)), None)
        if guest is not None:
            return guest.reduced(call, inputs.arrays, settings)
        ranges, progress = settings["ranges"], settings["progress"]
        return reduced(call, inputs.arrays, call_options(settings), ranges, progress=progress)

    def ready(self) -> ReadyPairs | None:
        """The call as one that ran before with arrays of the device; None where none did, or where it reads tables."""
        return _ready(*self._prepared((), {}))

    def _described(self, inputs: Inputs) -> Mapping[Variable, Any]:
        """Arrays of the inputs' shapes and dtypes, from which a call is planned."""
        return {v: x.example() if isinstance(x, GuestArray) else x for v, x in inputs.arrays.items()}

    def explain(self, *arrays: Any, **options: Any) -> Explanation:
        """How a call with these arguments would run: scheme, why, and each launch. Nothing is launched."""
        call, inputs, settings = self._prepared(arrays, options)
        return explained_tiles(call, self._described(inputs), call_options(settings), settings["ranges"])

    def source(self, *arrays: Any, **options: Any) -> str:
        """The OpenCL C that a call with these arguments would run."""
        call, inputs, settings = self._prepared(arrays, options)
        return source_pairs(call, self._described(inputs), call_options(settings), settings["ranges"])

    def _prepared(self, arrays: tuple[Any, ...], options: dict[str, Any]) -> tuple[PairCall, Inputs, dict[str, Any]]:
        """The call without its arrays, its inputs and its keywords, all of them checked."""
        inputs = self.inputs.bound(arrays) if arrays or self.inputs.unbound else self.inputs
        all_options = {**self.options, **options}
        if self.finish is not None and all_options.get("out") is not None:
            raise ModeError("out= would hold the result before it has its shape; this reduction has none")
        settings = keywords(all_options)
        self._check_neighbours(inputs)
        return self._pair_call(settings), inputs, settings

    def _pair_call(self, settings: Mapping[str, Any]) -> PairCall:
        """The call without its arrays, its options checked."""
        options = _pair_options(self.k, settings["dtype_acc"], settings["sum_scheme"], settings["exact"])
        return _call(self.formula, self.reduction, self.axis, self.weight, options, settings["backend"])

    def _check_neighbours(self, inputs: Inputs) -> None:
        rows, cols = inputs.shape[-2:]
        length = cols if self.axis else rows
        if self.k is not None and self.k > length:
            slots = ", ".join(str(slot) for slot in inputs.slots)
            raise ShapeError(
                f"{self.reduction.name} keeps K = {self.k} of {length} values: {'ij'[self.axis]} runs over {length} "
                f"({slots}); K is at most that"
            )

    def __repr__(self) -> str:
        weight = "" if self.weight is None else f", weight {self.weight!r}"
        unbound = ", ".join(slot.label for slot in self.inputs.unbound)
        over = "ij"[self.axis]
        return f"{self.reduction.name} over {over} of {self.formula!r}{weight}, called with ({unbound})"


def _ready(call: PairCall, inputs: Inputs, settings: Mapping[str, Any]) -> ReadyPairs | None:
    """As `Reduced.ready`, of a call that is prepared."""
    if questions((call.formula, call.weight)):
        return None
    return ready_pairs(call, inputs.arrays, call_options(settings), settings["ranges"])


def call_options(settings: Mapping[str, Any]) -> Options:
    """Those of a reduction's keywords that every call takes."""
    return Options(settings["mode"], settings["context"], settings["wait_for"], settings["out"])


@lru_cache(maxsize=256)
def _cached_operator(reduction: str | Operator) -> PairReduction:
    return pair_reduction(reduction)


def _operator(reduction: Any) -> PairReduction:
    """The operator; equal ones are one object, so that kernels are reused. Raises ModeError for any other object."""
    if isinstance(reduction, (str, Operator)):
        return _cached_operator(reduction.representative if isinstance(reduction, Operator) else reduction)
    return pair_reduction(reduction)


@lru_cache(maxsize=256)
def _pair_options(k: int | None, accumulator: str, scheme: Any, exact: bool) -> PairOptions:
    return PairOptions(k, None if accumulator == "auto" else np.dtype(accumulator), scheme, exact)


@lru_cache(maxsize=1024)
def _call(
    formula: Vector, reduction: PairReduction, axis: int, weight: Vector | None, options: PairOptions, backend: str
) -> PairCall:
    """The call without its arrays, made once. Raises what binding the operator raises whatever the dtype is."""
    checked = replace(options, accumulate=None if options.accumulate is None else FLOAT32)
    reduction.bind(FLOAT32, formula.dim, 0 if weight is None else weight.dim, INT32, checked)
    return PairCall(formula, reduction, axis, weight, options, backend)
