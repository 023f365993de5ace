"""Checked tables of pairs: before a reduction, others compute whether all places lie inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from clmapreduce.errors import ModeError, PlaceError
from clmapreduce.pairwise.call import PairCall
from clmapreduce.pairwise.inputs import Inputs, renamed
from clmapreduce.reductions.pairs import pair_reduction
from clmapreduce.vector.evaluate import evaluate
from clmapreduce.vector.node import Category, Vector
from clmapreduce.vector.tables import questions

Run = Callable[[PairCall, Inputs, Mapping[str, Any]], Any]


def check_places(call: PairCall, inputs: Inputs, settings: Mapping[str, Any], run: Run) -> None:
    """Raises PlaceError where a reduction would read outside of a checked table; it waits for the answers. run: runs a
    call, as the reduction itself runs. Of pairs that no `ranges` meet, places that follow i and j are not looked at.
    Raises ModeError for Dask arrays, which hold no numbers yet.
    """
    for question in questions((call.formula, call.weight)):
        if any(_any_outside(answer) for answer in _answers(question, call, inputs, settings, run)):
            raise PlaceError(
                f"{call.reduction.name} reads outside of a checked table; places go from 0 to the length of an axis "
                "less one. Use cm.Table(array, mode='clamp') for the nearest place"
            )


def _answers(
    question: Vector, call: PairCall, inputs: Inputs, settings: Mapping[str, Any], run: Run
) -> Iterator[Any]:  # fmt: skip
    """1 for places outside."""
    if not question.variables:
        yield evaluate(question, {})
        return
    read = [k for k, variable in enumerate(inputs.variables) if variable in question.variables]
    own = Inputs(inputs.slots[k] for k in read)
    names = zip((inputs.variables[k] for k in read), own.variables, strict=True)
    categories = {variable.category for variable in question.variables}
    of_pairs = categories >= {Category.I, Category.J}
    ask = PairCall(renamed(question, tuple(names)), pair_reduction("Max"), call.axis, None)
    yield run(ask, own, {**settings, "out": None, "progress": None, "ranges": settings["ranges"] if of_pairs else None})


def _any_outside(answer: Any) -> bool:
    answer = getattr(answer, "tensor", answer)  # of PyTorch's arrays in formulas
    if hasattr(answer, "dask"):
        raise ModeError("tables with mode='check' are not offered for Dask arrays; use mode='clamp'")
    return bool(np.asarray(answer.to_numpy()).max(initial=0) > 0 if hasattr(answer, "to_numpy") else (answer > 0).any())
