"""Terms by approximations: which functions are replaced, and what each term may be off by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.pair_plans import layout_of

from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.fast import LOG_FAST, QUICK, SIN_FAST
from clmapreduce.formula.node import Apply, Node, postorder
from clmapreduce.lowering.approximations.errors import BEARABLE
from clmapreduce.lowering.approximations.quick import QuickPair, Watched, quick_pair
from clmapreduce.lowering.pair import Pair, Role

DISTANCE = "SqDist(Vi(0,1),Vj(1,1))"
X, Y, B = (np.float32(v) for v in (0.7, -1.1, -3.0))
LOG = QUICK[LOG_FAST].error / BEARABLE
D = float(np.square(X - Y))


def sine(angle: float) -> float:
    """What a sine may be off by, over BEARABLE."""
    return (QUICK[SIN_FAST].error + QUICK[SIN_FAST].slope * abs(angle)) / BEARABLE


def quick_of(formula: str) -> tuple[Pair, QuickPair | None]:
    pair = layout_of(formula).pair
    return pair, quick_pair(pair)


def names(nodes: Any) -> list[str]:
    """Those of approximations."""
    return [n.function.name for n in postorder(nodes) if isinstance(n, Apply) and n.function.name.endswith("_quick")]


def number(pair: Pair, node: Node) -> float:
    """A node's value for X, Y and B."""
    arguments = {Role.ROW: [X], Role.COLUMN: [Y, B], Role.PARAMETER: [np.float32(2)]}  # the formula's only number
    symbols: dict[Node, Any] = {}
    for variable in pair.inputs:
        symbols |= dict.fromkeys(variable.symbols, arguments[variable.role].pop(0))
    return float(evaluate(node, symbols))


PRODUCT = "(Vi(0,1)*Vj(1,1))"
"""Of any sign, as a distance is not."""
P = float(X * Y)

FLOORS: dict[str, float] = {
    f"Log(1+{DISTANCE})": LOG,
    f"Log(1+{DISTANCE})*Vj(2,1)": 3 * LOG,
    f"Sin({PRODUCT})/Vj(2,1)": sine(P) / 3,
    f"Sin({DISTANCE})/Vj(2,1)": sine(D) / 3,
    f"Log(1+{DISTANCE})*{DISTANCE}*Vj(2,1)-Sin({PRODUCT})*Vj(2,1)": 3 * (LOG * D + sine(P)),
    f"XLogX({DISTANCE})*Vj(2,1)": 3 * LOG * D,
    f"Exp(-{DISTANCE})+Sin({DISTANCE})": sine(D),
    f"Log(2+Cos({DISTANCE}))": LOG,
    f"Log(1+{DISTANCE})*Cos({PRODUCT})": LOG * abs(np.cos(P)),
}


def margin(watched: Watched) -> float:
    """What a sum of one term leaves, but for a factor."""
    term, *behind = (number(watched.pair, node) for node in watched.pair.values)
    if watched.watch.behind == 1:
        return abs(term) - behind[0]
    return (behind[1] - watched.watch.allowance * behind[0]) / watched.watch.allowance


@pytest.mark.parametrize("formula", FLOORS)
def test_the_margin_is_what_a_term_exceeds_its_error_by(formula: str) -> None:
    """For one pair, beside numbers that were worked out by hand."""
    pair, quick = quick_of(formula)
    assert quick is not None and names(quick.quick.pair.values[:1]) and not names(quick.careful.values)
    only = "XLogX" not in formula and "+Sin" not in formula and "-Sin" not in formula and "*Cos" not in formula
    assert quick.quick.watch.behind == len(quick.quick.pair.values) - 1 == 1 + only
    scale = number(quick.quick.pair, quick.quick.pair.factors[0]) if quick.quick.pair.factors else 1.0
    whole = number(pair, pair.values[0])
    np.testing.assert_allclose(scale * margin(quick.quick), abs(whole) - FLOORS[formula], rtol=2e-5)
    np.testing.assert_allclose(scale * number(quick.quick.pair, quick.quick.pair.values[0]), whole, rtol=1e-5)


@pytest.mark.parametrize("argument", [DISTANCE, PRODUCT])
def test_sines_have_others_for_small_angles_and_for_all(argument: str) -> None:
    pair, quick = quick_of(f"Sin({argument})*Vj(2,1)")
    assert quick is not None and names(quick.quick.pair.values[:1]) == ["sin_near_quick"]
    small, steady = quick.seconds
    assert names(small.pair.values[:1]) == ["sin_small_quick"] and names(steady.pair.values) == ["sin_quick"]
    assert number(small.pair, small.pair.values[1]) == pytest.approx(D if argument == DISTANCE else P)
    assert small.watch.behind == 1 and 3 < small.watch.reach < np.pi and steady.watch.behind == 0
    for one in (small, steady):
        assert number(one.pair, one.pair.values[0]) == pytest.approx(number(pair, pair.values[0]), rel=1e-5)


@pytest.mark.parametrize(
    "formula, approximations",
    [
        (f"Exp(-{DISTANCE})*Sin({PRODUCT})*Vj(2,1)", {"sin_quick"}),
        (f"Log(1+{DISTANCE})-Sin({PRODUCT})", {"log2_close_quick", "sin_quick"}),
        (f"Sin({PRODUCT})+Cos({PRODUCT})", {"sin_quick", "cos_quick"}),
    ],
)
def test_other_terms_have_one_second(formula: str, approximations: set[str]) -> None:
    pair, quick = quick_of(formula)
    assert quick is not None and quick.quick.watch.behind == 1
    (second,) = quick.seconds
    assert set(names(second.pair.values)) == approximations and second.watch.behind == 0
    scale = number(second.pair, second.pair.factors[0]) if second.pair.factors else 1.0
    assert scale * number(second.pair, second.pair.values[0]) == pytest.approx(number(pair, pair.values[0]), rel=1e-5)


@pytest.mark.parametrize(
    "formula, waits",
    [
        (f"Log(1+{DISTANCE})", True), (f"-Log(1+{DISTANCE})*Vj(2,1)/Pm(3,1)", True), (f"XLogX({DISTANCE})*Vj(2,1)", True),
        (f"Vj(2,1)/(1+{DISTANCE})-Log(1+{DISTANCE})", False), (f"Log(1+{DISTANCE})+Sin({DISTANCE})", False),
        (f"IfElse(Vi(0,1),Log(1+{DISTANCE}),Vi(0,1))", False),
        (f"IfElse(Vi(0,1),Log(1+{DISTANCE}),0*Vi(0,1)*Vj(1,1))", False), (f"Sin({DISTANCE})*Vj(2,1)", False),
    ],
)  # fmt: skip
def test_the_scale_of_logarithms_waits(formula: str, waits: bool) -> None:
    """The hardware's are binary. Where all of a term is a logarithm times something, its tile's sum is scaled."""
    pair, quick = quick_of(formula)
    assert quick is not None
    before = number(pair, pair.factors[0]) if pair.factors else 1.0
    new = quick.quick.pair
    factor = number(new, new.factors[0]) if new.factors else 1.0
    assert factor == pytest.approx(before * (np.log(2) if waits else 1))
    for at in range(pair.width):
        scale = number(new, new.factors[at]) if new.factors else 1.0
        whole = before * number(pair, pair.values[at])
        np.testing.assert_allclose(scale * number(new, new.values[at]), whole, rtol=1e-5)
    assert all(number(new, node) == 1 for node in new.factors[pair.width :])


def test_logarithms_have_another_close_to_1() -> None:
    pair, quick = quick_of(f"Log(1+{DISTANCE})*Vj(2,1)")
    assert quick is not None and names(quick.quick.pair.values[:1]) == ["log2_quick"]
    (second,) = quick.seconds
    assert names(second.pair.values) == ["log2_close_quick"] and second.watch.behind == 0
    assert [number(second.pair, one) for one in second.pair.factors] == pytest.approx([np.log(2), 1])
    new = np.log(2) * number(second.pair, second.pair.values[0])
    assert new == pytest.approx(number(pair, pair.values[0]), rel=1e-5)


AROUND = ["Exp({})", "{}/(Square(Vi(0,1)-Vj(1,1))+1)", "Square({})*Vj(2,1)"]


@pytest.mark.parametrize("argument", [DISTANCE, PRODUCT])
@pytest.mark.parametrize("around, function", [*((one, "cos") for one in (*AROUND, "{}")), *((one, "sin") for one in AROUND)])
def test_angles_in_other_functions_are_not_watched(around: str, function: str, argument: str) -> None:
    """Cosines, and sines as series, are as good as the careful ones. Sines of distances stay as they are."""
    pair, quick = quick_of(around.format(f"{function.capitalize()}({argument})"))
    if function == "sin" and argument == DISTANCE:
        assert quick is None
        return
    assert quick is not None and quick.quick.watch.behind == 0 and not quick.seconds and quick.careful is pair
    assert names(quick.quick.pair.values) == [f"{function}_quick"]
    new = number(quick.quick.pair, quick.quick.pair.values[0])
    np.testing.assert_allclose(new, number(pair, pair.values[0]), rtol=1e-5)


@pytest.mark.parametrize("function", ["Cos", "Sin"])
@pytest.mark.parametrize("around", ["ReLU({})", "Step({})", "Sign({})", "Clamp({},Vi(0,1),Vj(1,1))", "IfElse({},Vi(0,1),Vj(1,1))"])
def test_an_angle_that_hides_stays_careful(around: str, function: str) -> None:
    """Where an angle is too large, a NaN would be no longer seen."""
    assert quick_of(around.format(f"{function}({PRODUCT})"))[1] is None


def test_what_is_chosen_shows() -> None:
    """Where a choice takes the other number, a NaN does no harm."""
    for function, name in (("Cos", "cos_quick"), ("Sin", "sin_near_quick")):
        _, quick = quick_of(f"IfElse(Vj(2,1),{function}({PRODUCT}),Vi(0,1))")
        assert quick is not None and names(quick.quick.pair.values[:1]) == [name]


def test_a_cosine_that_shows_somewhere_is_quick() -> None:
    _, quick = quick_of(f"Cos({DISTANCE})+ReLU(Cos({DISTANCE}))")
    assert quick is not None and names(quick.quick.pair.values) == ["cos_quick"]


@pytest.mark.parametrize(
    "formula",
    [
        f"Exp(Sin({DISTANCE}))", f"Square(Log(1+{DISTANCE}))", f"Square(Sin({DISTANCE}))", f"SinXDivX({DISTANCE})",
        f"Sin({DISTANCE})/({DISTANCE}+1)", f"SinXDivX(Sqrt({DISTANCE}))", f"Concat(Log(1+{DISTANCE}),{DISTANCE})",
        "Log(Vi(0,1))*SqDist(Vi(0,1),Vj(1,1))", "Log(1+SqDist(Vi(0,99),Vj(1,99)))", DISTANCE,
    ],
)  # fmt: skip
def test_terms_that_are_not_linear_stay_careful(formula: str) -> None:
    """So do functions of rows alone, which are computed once, logarithms of several sums, and pairs that walk long
    vectors.
    """
    assert quick_of(formula)[1] is None


def test_a_product_of_two_functions_is_not_watched() -> None:
    """It is linear in neither."""
    _, quick = quick_of(f"Log(1+{DISTANCE})*Sin({PRODUCT})")
    assert quick is not None and quick.quick.watch.behind == 0
    assert names(quick.quick.pair.values) == ["sin_quick"]


def test_several_sums_are_not_watched() -> None:
    _, quick = quick_of(f"Concat(Sin({PRODUCT}),Cos({PRODUCT}))")
    assert quick is not None and quick.quick.watch.behind == 0
    assert sorted(names(quick.quick.pair.values)) == ["cos_quick", "sin_quick"]


@pytest.mark.parametrize(
    "formula, tested",
    [
        ("XLogX(SqDist(Vi(0,2),Vj(1,2)))", False), ("XLogX(Norm2(Vi(0,2)-Vj(1,2)))*Vj(2,1)", False),
        ("XLogX(SqDist(Vi(0,2),Vj(1,2))*Square(Pm(3,1)))*Vj(2,1)", False), ("XLogX(Square(Square(Vi(0,1)-Vj(1,1))))", False),
        ("XLogX(Vi(0,1)*Vj(1,1))", True), ("IfElse(-Square(Vi(0,1)*Vj(1,1)),0*Vi(0,1),Log(Square(Vi(0,1)*Vj(1,1))))", True),
    ],
)  # fmt: skip
def test_positive_numbers_times_their_logarithm_need_no_test_for_0(formula: str, tested: bool) -> None:
    """A negative number's logarithm is NaN, which a test keeps."""
    _, quick = quick_of(formula)
    assert quick is not None
    terms = [n.function.name for n in postorder(quick.quick.pair.values[:1]) if isinstance(n, Apply)]
    assert ("where" in terms) == tested and ("xlog2x_quick" in terms) != tested


def test_factors_that_wait_are_those_of_terms() -> None:
    pair, quick = quick_of(f"Sin({PRODUCT})*Pm(3,1)")
    assert quick is not None and len(pair.factors) == 1
    for one in (quick.quick.pair, *(second.pair for second in quick.seconds), quick.careful):
        assert one.factors[:1] == pair.factors and [getattr(node, "value", None) for node in one.factors[1:]] == [1]


def test_doubles_stay_careful() -> None:
    assert quick_pair(layout_of(f"Log(1+{DISTANCE})", code="f8").pair) is None


@pytest.mark.parametrize("argument", [DISTANCE, f"Sqrt({DISTANCE})"])
def test_floors_of_finite_numbers_have_no_choice(argument: str) -> None:
    """x log x is 0 for 0, and so is its floor: x times a number. A root of a negative number spoils the term as well."""
    _, quick = quick_of(f"XLogX({argument})*Vj(2,1)")
    assert quick is not None
    term, floor = ([n.function.name for n in postorder([node]) if isinstance(n, Apply)] for node in quick.quick.pair.values)
    assert "where" not in term and "where" not in floor
