"""Expression strings: each has the meaning that Python gives it, or raises an error before anything is compiled."""

from __future__ import annotations

import ast
import time
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import clmapreduce as cm
from clmapreduce.errors import ClMapReduceError, DTypeError, FormulaError
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Node, Record, Symbol
from clmapreduce.formula.parse import MAX_DEPTH, MAX_LENGTH, MAX_NODES, Expression
from clmapreduce.formula.registry import FUNCTIONS

BREAK_OUTS = [
    "0; } __kernel void evil(){", "x; } __kernel void evil(__global int *p) { p[0] = 1; }", "x); evil(", "x)}", "};",
    "x; y", "x; import os", "x\n__kernel void evil() {}", "x\ny", "x /* comment */", "x // comment\n + 1",
    "x // y */ z",
    "/* */ x", "x */ + y", "#include <stdio.h>", "#define x y\nx", "#pragma OPENCL EXTENSION all : enable",
    "x ? y : z", "x && y", "x || y", "!x", "x++", "++x--", "x->y", "*x = 1", "&x", "x = 1", "x += 1", "(int)x",
    "(float4)(x, y, z, w)", "x[0]", "x[y]", "x[0:1]", "x[...]", "x['a', 'b']", "x[('a')][0]", "get_global_id(0)",
    "barrier(CLK_LOCAL_MEM_FENCE)", "asm('nop')", "asm volatile(\"trap;\")", "__builtin_trap()", "printf('x')",
    "native_exp(x)", "__asm__", "__kernel", "goto x", "return x", "while (1);", "x # comment\n)", "`x`", "$x",
    "x @ y", "x \\ y", "x'", "\"", "'''", "0x", "1__0", "1.f", "1.0f", "0x1p3", "1UL", "07",
]  # fmt: skip
PYTHON = [
    "lambda: x", "lambda y: y + x", "(lambda: x)()", "[x]", "[x for x in y]", "{x}", "{x: y}", "{**x}",
    "{x for x in y}", "{x: y for x in z}", "(x for x in y)", "(x, y)", "x, y", "()", "(x,)", "*x", "**x", "sqrt(*x)",
    "sqrt(**x)", "sqrt(x=y)", "sqrt(x, y=z)", "sqrt()", "sqrt(x, y)", "where(x, y)", "x if y else z", "x and y",
    "x or y", "not x", "x in y", "x not in y", "x is y", "x is not y", "x < y < z", "x == y == z", "(y := x)",
    "[y := x]", "await x", "yield", "(yield x)", "yield from x", "async x", "f'{x}'", "f'{__import__(\"os\")}'",
    "f\"{x!r:>{y}}\"", "'x'", "\"x\"", "b'x'", "'a' 'b'", "u'x'", "r'x'", "x + 'a'", "'a' * 10**9", "None", "...",
    "Ellipsis()", "NotImplemented()", "print(x)", "x.y", "x.real", "x.__class__",
    "x.__class__.__mro__[1].__subclasses__()",
    "().__class__.__bases__[0].__subclasses__()", "''.join(x)", "sqrt.numpy(x)", "sqrt.__globals__", "x.astype('f8')",
    "__import__('os').system('true')", "__import__('os')", "eval('x')", "exec('x')", "compile('x', '', 'eval')",
    "open('/etc/passwd')", "getattr(x, 'y')", "globals()", "locals()", "vars()", "dir()", "help()", "input()",
    "breakpoint()", "type(x)", "object()", "super()", "memoryview(x)", "__builtins__", "__name__", "__debug__", "_",
    "_x", "__x__", "_x + y", "sqrt", "sqrt + 1", "exp(sqrt)", "where", "x(y)", "x()(y)", "sqrt(x)(y)", "(sqrt)(x)(y)",
    "index(x)", "index()", "x[sqrt]", "x['a'].b", "x[b'a']", "x[f'a']", "x[None]", "x[1.5]", "x[-1]", "x['a':'b']",
    "import os", "from os import *", "del x", "pass", "assert x", "raise x", "global x", "class A: pass",
    "def f(): pass", "if x: y", "for x in y: z", "while x: y", "with x: y", "try: x\nexcept: y", "@x", "x: int",
    "x: int = 1", "type X = int", "match x:\n case 1: y", "print x", "exec x", "x <> y", "x ** ", "+", "", " ", "\n",
    "\t", "(", ")", "((x)", "[", "x +", "+ * x", "x x", "x 1", "1 x", "x..y", "..", "x,", ",", ";", ":", "=",
]  # fmt: skip
LOOK_ALIKES = [
    "\u0455in(x)", "ex\u0440(x)", "sq\u0433t(x)", "x \u2212 y", "x \u00d7 y", "x \u00f7 y",
    "x \u2215 y", "x \uff0b y", "sqrt\uff08x\uff09", "\u201cx\u201d", "x\u00a0+\u00a0\u00a0y\u2003;", "x\u200b+y",
    "\u202ex + y", "\ufeffx;", "x\u0000", "\u0000", "x + \ud800", "\U0001d4df()", "\u2460", "x\u00b2", "\u221ax",
    "\u03c0(x)", "x\u037e y", "\uff3f\uff3fimport\uff3f\uff3f('os')", "\uff3fx", "\uff3f\uff3fclass\uff3f\uff3f",
    "\u0661 + \u3007x", "x\u2028y", "x \u2264 y", "x \u2260 y", "\u00acx", "\U0001f600",
]  # fmt: skip
LARGE = [
    "10**10**10", "x + 10**10**10", "(2**1000)**1000", "((2**1000)**1000)**1000", "9**9**9", "9**9**9**9", "2**1001",
    "x * 2**1001", "(-2)**10**6", "10.0**400", "x + 10.0**1e10", "1 << 10**10", "1 << 1001",
    "x + (1 << 1 << 1000 << 30)",
    "1 << (1 << 30)", "(1 << 1000) << 1000", "x * (10**300 * 10**300)", "10**300 * 10**300 * 10**300", "x + 10**309",
    "9" * 400, "x + " + "9" * 400, "9" * 4299, "9" * 9999, "x + 1" + "0" * 5000, "0x" + "f" * 5000, "1e400 ** 2 // 0",
    "1/0", "x + 1/0", "1//0", "1%0", "1.0/0", "0**-1", "1 << -1", "1 >> -1", "x + (1 << -1)", "1j < 2", "1j // 2",
    "1j % 2", "~1.5", "~1j", "1 & 1.5", "1.5 << 2", "1 | 1j", "2.0 >> 1", "1e308 * 10 // 1 % 0",
    "x" * (MAX_LENGTH + 1), "x +" * 4000 + "x", "(" * 4000 + "x" + ")" * 4000,
    "-" * 60 + "x", "-" * 4000 + "x", "~" * 9000 + "x", "[" * 5000, "{" * 5000, "sqrt(" * 60 + "x" + ")" * 60,
    "sqrt(" * 1500 + "x" + ")" * 1500, "+".join(["x"] * (MAX_NODES // 2 + 1)), "x" + "**x" * 60, "x" + "**x" * 2000,
    "x" + "['a']" * 60, "x" + "[0]" * 3000, "not " * 2000 + "x", "lambda:" * 1000 + "x", "x if x else " * 500 + "x",
    "f(" * 2000, "f'{" * 150 + "x" + "}'" * 150, "x < " * 600 + "x", "'" + "a" * 9000 + "'", " " * 9000 + ";",
    "\n" * 5000 + ";", "x" + "\\\n" * 3000 + ";", ("a" * 9000) + "()", "_" * 9000,
]  # fmt: skip
CORPUS = list(dict.fromkeys([*BREAK_OUTS, *PYTHON, *LOOK_ALIKES, *LARGE]))


def nodes_of(text: str, dtype: str = "f4") -> Any:
    """Parses, and builds the nodes for arguments of a dtype."""
    expression = Expression(text)
    return expression(*[Symbol(name, np.dtype(dtype)) for name in expression.names])


def test_the_corpus_is_large() -> None:
    assert len(CORPUS) >= 300


@pytest.mark.parametrize("text", CORPUS, ids=lambda text: ascii(text[:40]))
def test_nothing_outside_the_grammar_gets_through(text: str) -> None:
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(FormulaError) as failure:
            nodes_of(text)
    assert time.process_time() - begin < 1.0
    assert len(str(failure.value)) < 2 * MAX_LENGTH + 4000


@pytest.mark.parametrize("text", ["x + 10**10**10", "(2**1000)**1000 * x", "x; }"])
def test_a_map_of_it_is_refused_before_anything_is_built(text: str) -> None:
    with pytest.raises(FormulaError):
        cm.Map(text)(np.ones(3, np.float32))


@given(st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_at_all_is_an_expression_or_a_formula_error(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            nodes_of(text)
        except ClMapReduceError as error:
            assert str(error)


PIECES = [
    "x", "y", "1", "0", "-1", "2.5", "1j", "True", "sqrt(", "where(", "(", ")", ",", "+", "-", "*", "**", "//", "/",
    "%", "<<", ">>", "&", "|", "^", "~", "<", "==", "!=", "index", "['a']", ".", "_", " ", "'a'", "[", "]",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12))
@settings(max_examples=500, deadline=None)
def test_shuffled_pieces_of_the_grammar_raise_nothing_else(pieces: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(ClMapReduceError):
            assert isinstance(nodes_of("".join(pieces)), (Node, bool, int, float, complex))


# ---------------------------------------------------------------------------------------------------------- messages
@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("x + y.real", "Attribute is not allowed in an expression", "    ^"),
        ("  x + sinus(x)", "unknown function 'sinus'; known are abs, add", "    ^"),
        ("sqrt(x, y)", "sqrt takes 1 argument(s), 2 given", "^"),
        ("x + _y", "'_y' cannot name an argument", "    ^"),
        ("sqrt + 1", "'sqrt' cannot name an argument", "^"),
        ("ä + ö + lambda: x", "cannot parse", ""),
        ("ä + ö + [x]", "List is not allowed in an expression", "        ^"),
        ("(x +\n y +\n [z])", "List is not allowed in an expression", " ^"),
    ],
)
def test_a_refusal_points_at_what_offends(text: str, message: str, caret: str) -> None:
    with pytest.raises(FormulaError) as failure:
        Expression(text)
    lines = str(failure.value).split("\n")
    assert message in lines[0]
    if caret:
        assert lines[2] == "    " + caret
        assert lines[1].strip() in text


def test_errors_of_constants_show_their_place() -> None:
    with pytest.raises(FormulaError, match="cannot compute this: division by zero\n    x \\+ 1 / 0\n        \\^"):
        nodes_of("x + 1 / 0")
    with pytest.raises(FormulaError, match="cannot compute this: negative shift count"):
        nodes_of("1 << -1")
    with pytest.raises(FormulaError, match="an exponent of constants is at most 1000"):
        nodes_of("2 ** 1001")
    with pytest.raises(FormulaError, match="more than 1024 bits"):
        nodes_of("(2 ** 1000) ** 2")


def test_the_number_of_values_is_checked() -> None:
    with pytest.raises(FormulaError, match="'x \\+ y' needs values for x, y; 1 given"):
        Expression("x + y")(1.0)
    with pytest.raises(FormulaError, match="needs values for nothing; 1 given"):
        Expression("1 + 2")(1.0)


def test_a_field_of_what_has_none_is_refused() -> None:
    with pytest.raises(FormulaError, match="it has no field or element 'a'"):
        nodes_of("x['a']")
    record = Record(a=Symbol("a", np.dtype("f4")))
    assert Expression("r['a']")(record) is record["a"]
    with pytest.raises(FormulaError, match="no field 'b'; the value has 'a'"):
        Expression("r['b']")(record)
    for text in ("r + 1", "r | r", "-r", "sqrt(r)", "r < 1"):
        with pytest.raises(FormulaError):
            Expression(text)(record)


# ----------------------------------------------------------------------------------------------------------- meaning
def test_names_are_only_names() -> None:
    """What C or OpenCL would take for its own never enters a kernel as it is."""
    text = "float + kernel * goto - int4 + get_global_id + __proto if False else 0"
    with pytest.raises(FormulaError):
        nodes_of(text)
    x = np.arange(20, dtype=np.float32)
    result = cm.Map("float * kernel + goto - int4 / cmr_map")(x, x, x, x, x + 1)
    np.testing.assert_allclose(result, x * x + x - x / (x + 1), rtol=1e-6)


@pytest.mark.parametrize("text", ["n < (1 << 100)", "n + (1 << 100)", "minimum(1 << 100, 2)", "floor(1 << 100)"])
def test_integers_that_no_kernel_holds_are_refused(text: str) -> None:
    with pytest.raises(DTypeError, match=f"the constant {1 << 100} does not fit int64"):
        nodes_of(text, "i8")


def test_names_come_in_order_of_first_appearance() -> None:
    assert Expression("b * c / 2 + a - b").names == ("b", "c", "a")
    assert Expression("index * k + index").names == ("k",)
    assert Expression("True + 1.5e3 - 2j").names == ()
    assert Expression("größe + ｘ").names == ("größe", "x"), "Python's own normal form of names"


def test_the_depth_and_size_that_are_promised_work() -> None:
    nodes_of("-" * (MAX_DEPTH - 1) + "x")
    nodes_of("+".join(["x"] * 49))
    assert nodes_of("(" * 90 + "x" + ")" * 90).dtype == np.float32


VALUES = {
    "x": np.array([0.5, -1.25, 3.0, 0.0]), "y": np.array([2.0, 0.25, -0.5, 1.0]),
    "s": np.array([1.5, -2.0, 0.75, 8.0], np.float32), "n": np.array([3, -4, 0, 7]), "m": np.array([2, 5, -1, 1]),
    "k": np.array([1, 2, 3, 0], np.int8), "b": np.array([True, False, True, False]),
    "c": np.array([False, False, True, True]),
}  # fmt: skip


def single(function: Any) -> Any:
    """As here on purpose: 8-bit integers and bools compute in float32, not in NumPy's float16."""

    def call(*args: Any) -> Any:
        small = np.result_type(*args).itemsize == 1
        return function(*[np.asarray(a, np.float32)[()] for a in args] if small else args)

    return call


IN_FLOATS = ("sqrt", "exp", "sin", "arctan", "tanh", "rint", "hypot", "arctan2")
def where(condition: Any, chosen: Any, otherwise: Any) -> Any:
    """NumPy's, but it refuses integers that do not fit, as sums do; np.where takes their last bits."""
    dtype = np.result_type(chosen, otherwise)
    for value in (chosen, otherwise):
        if type(value) is int and dtype.kind in "iu":
            dtype.type(value)
    return np.where(condition, chosen, otherwise)


NAMESPACE = {name: getattr(np, name) for name in FUNCTIONS if name != "erf"}
NAMESPACE |= {name: single(getattr(np, name)) for name in IN_FLOATS}
NAMESPACE |= {"where": where}
CONSTANTS = ["0", "1", "2", "3", "7", "100", "0.5", "2.5", "1e-3", "True", "False"]
UNARY = ["sqrt", "exp", "sin", "arctan", "floor", "ceil", "abs", "isnan", "tanh", "negative", "rint", "logical_not"]
BINARY = ["minimum", "maximum", "hypot", "arctan2", "less", "equal", "add", "divide", "mod", "logical_and"]

OPERATORS = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!="]


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> str:
    """Text of the whole grammar. Bools stay out of powers (NumPy squares them to int8, by a short cut of its own)."""
    form = draw(st.integers(0, 9)) if depth else 0

    def inner() -> str:
        return draw(expressions(depth - 1))

    if form <= 2:
        return draw(st.sampled_from([*VALUES, *VALUES, *CONSTANTS]))
    if form <= 5:
        return f"({inner()} {draw(st.sampled_from(OPERATORS))} {inner()})"
    if form == 6:
        return f"({draw(st.sampled_from([*'xysnmk']))} ** {draw(st.sampled_from(['1', '2']))})"
    if form == 7:
        return f"({draw(st.sampled_from(['-', '~']))}{inner()})"
    if form == 8:
        return f"{draw(st.sampled_from(UNARY))}({inner()})"
    name = draw(st.sampled_from([*BINARY, "where"]))
    return f"{name}({', '.join(inner() for _ in range(FUNCTIONS[name].arity))})"


def numpys(text: str) -> Any:
    """What Python and NumPy make of the text; None where they refuse. NumPy may import what it raises."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(text, {"__builtins__": {"__import__": __import__}, **NAMESPACE, **VALUES})
    except (TypeError, ArithmeticError, ValueError):
        return None


def ours(text: str) -> Any:
    expression = Expression(text)
    symbols = [Symbol(name, VALUES[name].dtype) for name in expression.names]
    value = expression(*symbols)
    numbers: dict[Node, Any] = {symbol: VALUES[symbol.name] for symbol in symbols}
    return evaluate(value, numbers) if isinstance(value, Node) else value


def has_a_huge_constant(text: str) -> bool:
    """Whether a part of the text is an integer of more than 64 bits, which NumPy computes with as an object."""
    names = set(VALUES)
    parts = [part for part in ast.walk(ast.parse(text, mode="eval")) if isinstance(part, ast.expr)]
    alone = [part for part in parts if not any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(part))]
    values = [numpys(ast.unparse(part)) for part in alone]
    return any(isinstance(value, int) and not -(2**63) <= value < 2**64 for value in values)


@given(expressions())
@settings(max_examples=1000, deadline=None)
@example("(s * 0.5)")
@example("(k + 100)")
@example("(n // 0)")
@example("(True + True)")
@example("(sqrt(2) * s)")
@example("(n < (1 << 100))")
@example("(-(x + floor((1 << 100))))")
@example("(-(x + logical_and(x, (1 << 100))))")
@example("(x + (1 << 100))")
def test_an_expression_means_what_python_and_numpy_mean(text: str) -> None:
    """Where an integer of more than 64 bits takes part we may refuse what NumPy does not, and the other way round."""
    expected, huge = numpys(text), has_a_huge_constant(text)
    if expected is None and not huge:
        with pytest.raises(ClMapReduceError):
            ours(text)
        return
    try:
        result = ours(text)
    except ClMapReduceError:
        assert huge, text
        return
    if expected is None or np.asarray(expected).dtype == object:
        return
    assert np.result_type(result) == np.result_type(expected), text
    np.testing.assert_array_equal(result, expected, err_msg=text)
