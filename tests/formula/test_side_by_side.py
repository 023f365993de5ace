"""Functions that test their arguments, called once for several places."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.pair_plans import layout_of

import clmapreduce as cm
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText


def text_of(formula: str, lanes: int = 1) -> PairText:
    layout = layout_of(formula)
    return PairText(layout.pair, layout.bound, layout.outputs, lanes, True, False)


def calls(text: str) -> list[str]:
    return re.findall(r"cmr_(?:log|sin|cos|power)_fast_\w+(?=\()", text)


DISTANCE = "SqDist(Vi(0,2),Vj(1,2))"


@pytest.mark.parametrize(
    ("places", "kinds"),
    [(1, ["float"]), (2, ["float2"]), (3, ["float2", "float"]), (4, ["float4"]), (7, ["float4", "float2", "float"])],
)
def test_as_many_places_as_a_vector_has_lanes(places: int, kinds: list[str]) -> None:
    computed = text_of(f"Log(1+{DISTANCE})").values_of([(v, 0) for v in range(places)])
    assert calls(computed.statements) == [f"cmr_log_fast_{kind}" for kind in kinds]
    assert len({*map(tuple, computed.texts)}) == places


def test_functions_of_functions_follow_each_other() -> None:
    computed = text_of(f"Log(2+Cos({DISTANCE}))").values_of([(0, 0), (0, 1), (1, 0), (1, 1)])
    assert calls(computed.statements) == ["cmr_cos_fast_float4", "cmr_log_fast_float4"]


def test_what_is_no_pairs_and_other_lanes_stay() -> None:
    """A row's logarithm is a term, computed once; vectors are tested as a whole anyway."""
    assert calls(text_of("Log(Vi(0,1))*Vj(1,1)").values_of([(0, 0), (1, 0)]).statements) == []
    wide = text_of(f"Log(1+{DISTANCE})", lanes=4)
    assert calls(wide.values_of([(0, 0), (0, 1)]).statements) == ["cmr_log_fast_float4"] * 2
    assert wide.together([0, 1, 2, 3], 1) == [[0], [1], [2], [3]]


@pytest.mark.parametrize(("columns", "parts"), [(1, [[0, 1, 2, 3], [4, 5]]), (2, [[0, 1], [2, 3], [4, 5]]), (8, [[n] for n in range(6)])])
def test_rows_whose_values_are_computed_at_once(columns: int, parts: list[list[int]]) -> None:
    assert text_of(f"Sin({DISTANCE})").together([*range(6)], columns) == parts
    assert text_of(DISTANCE).together([*range(6)], columns) == [[n] for n in range(6)]


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "log": (lambda z: z.log(), np.log), "sin": (lambda z: z.sin(), np.sin), "cos": (lambda z: z.cos(), np.cos),
    "power": (lambda z: z**-0.7, lambda z: z**-0.7), "log of cos": (lambda z: (2 + z.cos()).log(), lambda z: np.log(2 + np.cos(z))),
}  # fmt: skip


@pytest.mark.parametrize("rare", ["one row", "one column", "all"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rare_arguments_beside_others(
    name: str, dtype: Any, rare: str, context: cm.Context, rng: np.random.Generator
) -> None:
    """Numbers near 1, and angles of many turns, beside usual ones. The bounds are those of docs/guides/accuracy.md: on NVIDIA
    2e-6 of a logarithm and 2^-20.8 of a cosine, which is 2.7e-6 where one is of the other; of doubles 4 units.
    """
    function, exact = FUNCTIONS[name]
    x, y = rng.uniform(0.2, 3, 77).astype(dtype), np.ones(29, dtype)
    odd = np.array([1, 1 + 1e-4, 1 - 1e-3, 3e6, 1e-20, 1e15, 0.01], dtype)
    if rare == "one column":
        y[7] = 1e15
    elif rare == "one row":
        x[13:20] = odd
    else:
        x = np.resize(odd, 77)
    for reduce, combine in (("max", np.max), ("min", np.min)):
        values = exact((x[:, None] * y).astype("f8"))
        result = getattr(function(cm.Vi(x[:, None]) * cm.Vj(y[:, None])), reduce)(dim=1, context=context, mode="parallel")
        expected = combine(values, axis=1)
        scale = np.maximum(np.abs(expected), 1e-3 if name in ("log", "power") else 1)
        assert np.max(np.abs(np.asarray(result, "f8")[:, 0] - expected) / scale) <= (3e-6 if dtype is np.float32 else 4e-15)
