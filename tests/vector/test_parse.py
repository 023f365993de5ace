"""Formula strings: their meaning, and their errors."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clmapreduce.errors import ClMapReduceError, FormulaError, ShapeError
from clmapreduce.vector import OPERATIONS, Category, Constant, Variable
from clmapreduce.vector.derivative import gradient
from clmapreduce.vector.node import text
from clmapreduce.vector.parse import parse

X, Y, G, B = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 1, 2), Variable(3, 1, 1)
ALIASES = ["x = Vi(3)", "y = Vj(3)", "g = Pm(1)", "b = Vj(1)"]
exp, sqdist = OPERATIONS["Exp"], OPERATIONS["SqDist"]


@pytest.mark.parametrize(
    ("string", "expected"),
    [
        ("Exp(-SqDist(x,y)/g) * b", exp(-sqdist(X, Y) / G) * B),
        ("x + y * g", X + Y * G),
        ("(x + y) * g", (X + Y) * G),
        ("x - y - g", (X - Y) - G),
        ("x / y / g", (X / Y) / G),
        ("-x**2", -(X**2)),
        ("(-x)**2", X**2),
        ("x**-1", X**-1),
        ("x ^ 3", X**3),
        ("x**2**3", X**8),
        ("x*-y", X * -Y),
        ("(x|y) * b", (X | Y) * B),
        ("x | y + y", X | (Y + Y)),
        ("x < y", X < Y),
        ("x >= y + 1", X >= Y + 1),
        ("x == y", OPERATIONS["Equal"](X, Y)),
        ("x != y", OPERATIONS["NotEqual"](X, Y)),
        ("+x", X),
        ("2 * 3 * x", 6 * X),
        ("0.5 * x", 0.5 * X),
        (".5e1*x", 5 * X),
        ("1/4", Constant((0.25,))),
        ("IntCst(2) * x", 2 * X),
        ("RatCst(1, 4) * x", 0.25 * X),
        ("Elem(x, 1)", OPERATIONS["Elem"](X, 1)),
        ("Grad(Exp(x|y), x, b)", gradient(exp(X | Y), X, B)),
        ("Var(0,3,0) + Vj(1, 3)", X + Y),
        ("TensorDot(x, y, Ind(3), Ind(3), Ind(0), Ind(0))", OPERATIONS["TensorDot"](X, Y, (3,), (3,), (0,), (0,))),
        ("TensorDot(x, y, [3], [3,], [], [])", OPERATIONS["TensorDot"](X, Y, (3,), (3,), (), ())),
        ("SqDist(x, y,)", OPERATIONS["SqDist"](X, Y)),
        ("Factorize(x*y, x)", X * Y),
        ("  x\n +\ty ", X + Y),
    ],
)
def test_strings_mean_what_python_means(string: str, expected: object) -> None:
    actual, variables = parse(string, ALIASES)
    assert actual is expected
    assert variables == (X, Y, G, B)


def test_aliases_say_their_place_or_have_it_from_the_list() -> None:
    actual, variables = parse("a * c + Vi(7, 2)", ["a=Vj(4, 2)", " c = Pm( 1 )", "d = Var(3, 5, 0)", "e = Vi(0, 1)"])
    assert [v.position for v in variables] == [0, 1, 3, 4, 7]
    assert [v.dim for v in variables] == [1, 1, 5, 2, 2]
    assert variables[3].category is Category.J
    assert actual is Variable(4, 2, 1) * Variable(1, 1, 2) + Variable(7, 2, 0)


def test_variables_that_simplification_drops_are_still_listed() -> None:
    assert parse("Pow(Vi(0,3), 0) + Vj(1,3)")[1] == (X, Y)


@pytest.mark.parametrize(
    ("string", "error", "message"),
    [
        ("Exp(x", FormulaError, r"'\)' is missing"),
        ("x + ", FormulaError, "the end"),
        ("x y", FormulaError, "'y' cannot stand here"),
        ("1" * 5000, FormulaError, "a number of 5000 digits is too long"),
        ("exp(x)", FormulaError, "unknown operation 'exp'; did you mean Exp"),
        ("z + x", FormulaError, "'z' is no variable; Names here: x, y, g, b"),
        ("Exp + x", FormulaError, "takes arguments in parentheses"),
        ("Exp(x, y)", FormulaError, "too many positional arguments"),
        ("SqDist(x)", FormulaError, "missing a required argument"),
        ("x[0]", FormulaError, r"'\[' cannot stand here"),
        ("[1, 2]", FormulaError, "no formula"),
        ("Elem(x, [1)", FormulaError, r"'\]' is missing"),
        ("Elem(x, [1,,2])", FormulaError, "',' cannot stand here"),
        ("TensorDot(x, y, [x], [3], [], [])", FormulaError, "Ind: a number"),
        ("Exp(,)", FormulaError, "',' cannot stand here"),
        ("x.dim", FormulaError, r"'\.' cannot stand here"),
        ("__import__('os').system('true')", FormulaError, "unknown operation '__import__'"),
        ("x < y < x", FormulaError, "chained"),
        ("x + Ind(1)", FormulaError, "lists of numbers"),
        ("Ind(1)", FormulaError, "no formula"),
        ("Exp(Ind(1))", FormulaError, "neither a formula"),
        ("Elem(x, y)", FormulaError, "must be an integer"),
        ("Elem(x, 3)", ShapeError, "coordinate 3 of a vector of dimension 3"),
        ("x + Vi(9, 2)", ShapeError, "dimensions 3, 2"),
        ("Vi(0, 2)", FormulaError, "two variables at one position"),
        ("1 / 0 * x", FormulaError, "division by zero"),
        ("9 ** 99999 * x", FormulaError, "too large"),
        ("9.0 ** 99999 * x", FormulaError, "constant"),
        ("(-1) ** 0.5 * x", FormulaError, "complex"),
        ("(" * 200 + "x" + ")" * 200, FormulaError, "nested deeper"),
        ("x" + " + x" * 100_000, FormulaError, "at most 100000"),
        ("", FormulaError, "the end"),
        ("x = y", FormulaError, "'=' cannot stand here"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(string: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as failure:
        parse(string, ALIASES)
    assert "two variables" in message or "at most" in message or str(failure.value).endswith("^")


@pytest.mark.parametrize(
    "alias",
    ["x", "x = 3", "x = Vi()", "x = Exp(Vi(0,1))", "Exp = Vi(3)", "x y = Vi(3)", "x = Vi(0)", "x = Vi(3", "= Vi(3)"],
)
def test_wrong_aliases_are_refused(alias: str) -> None:
    with pytest.raises(ClMapReduceError):
        parse("1", [alias])


def test_two_aliases_of_one_name_are_refused() -> None:
    with pytest.raises(FormulaError, match="one name"):
        parse("x", ["x = Vi(3)", "x = Vj(3)"])


@given(st.text(alphabet="xyExpSum()+-*/|^<>=,.0123 ", max_size=40))
def test_no_text_brings_another_error(string: str) -> None:
    with contextlib.suppress(ClMapReduceError):
        parse(string, ALIASES)


def test_written_formulas_are_read_back() -> None:
    f = gradient(exp(-sqdist(X, Y) / G) * OPERATIONS["TensorProd"](X, Y).sum() + OPERATIONS["SinXDivX"](B), X)
    f = OPERATIONS["Concat"](
        f, OPERATIONS["MatVecMult"](OPERATIONS["TensorProd"](X, Y), X) * 1e-300, OPERATIONS["ElemT"](B, 4, 2)
    )
    assert parse(text(f))[0] is f
    assert len(text(f, 50)) == 50
