"""Which parts of a formula are computed beforehand: sums over long vectors of one side."""

from __future__ import annotations

import pytest
from support.pair_plans import vector

from clmapreduce.lowering.lower import UNROLLED
from clmapreduce.lowering.side_values import put_aside
from clmapreduce.vector.node import Category, Vector

X, Y, P = "Vi(0,40)", "Vj(1,40)", "Pm(2,40)"


def aside(*texts: str) -> tuple[tuple[Vector, ...], dict[str, Category]]:
    """The formulas that remain, and the parts put aside, each with the index it depends on."""
    formulas, variables = put_aside([vector(text) for text in texts], UNROLLED, 7)
    assert [variable.position for variable in variables] == list(range(7, 7 + len(variables)))
    return formulas, {repr(part): variable.category for variable, part in variables.items()}


def name_of(text: str) -> str:
    return repr(vector(text))


@pytest.mark.parametrize(
    "text, expected",
    [
        (f"Norm2({X})*Norm2({Y})", {f"Norm2({X})": Category.I, f"Norm2({Y})": Category.J}),
        (f"Normalize({X})|{Y}", {f"Rsqrt(SqNorm2({X}))": Category.I}),
        (f"Exp({X}|{P})*Vi(3,1)*Vj(4,1)", {f"Exp({X}|{P})*Vi(3,1)": Category.I}),
        (f"SqDist({X},{Y})*({P}|{P})", {f"{P}|{P}": Category.PARAMETER}),
        (f"SqNorm2({X})", {f"SqNorm2({X})": Category.I}),
        (f"SqDist({X},{Y})", {}),
        (f"SqNorm2({X}+{Y})", {}),
        ("SqNorm2(Vi(0,16))*SqNorm2(Vj(1,3))", {}),
        (f"{X}*Sum({Y})", {f"Sum({Y})": Category.J}),
    ],
)
def test_what_is_put_aside(text: str, expected: dict[str, Category]) -> None:
    """The largest parts of one number that follow one index, or none, and have long sums inside."""
    (formula,), sides = aside(text)
    assert sides == {name_of(part): side for part, side in expected.items()}
    assert (formula is vector(text)) == (not expected)
    assert formula.dim == vector(text).dim


def test_what_formulas_share_is_put_aside_once() -> None:
    formulas, sides = aside(f"Norm2({X})*Vj(3,1)", f"Norm2({X})*({X}|{Y})")
    assert list(sides) == [name_of(f"Norm2({X})")]
    assert all(formula.variables[0].position in (0, 7) for formula in formulas)
    assert {v.position for v in formulas[1].variables} == {0, 1, 7}
