"""Users' operators tried on sample values: correct ones pass, wrong ones are refused with values that prove it.

No device is needed: the laws are tried in NumPy when an operator is bound to a dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.errors import FormulaError
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Symbol
from clmapreduce.reductions import Operator
from clmapreduce.reductions.samples import plain_samples

m = cm.math
INF = float("inf")
CODES = ("?", "i1", "u1", "i4", "u8", "f2", "f4", "f8", "c8", "c16")


def bind(op: Operator, dtype: Any) -> None:
    op.bind(np.dtype(dtype), "auto", True)


def refusal(op: Operator, dtype: Any) -> str:
    with pytest.raises(FormulaError) as error:
        bind(op, dtype)
    return str(error.value)


# -------------------------------------------------------------------------------------------------------- plain numbers
def stable(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)) that does not overflow."""
    high, low = m.maximum(a, b), m.minimum(a, b)
    return high + m.where(low == -INF, 0.0, m.log1p(m.exp(low - m.where(low == -INF, 0.0, high))))


CORRECT: dict[str, tuple[Callable[..., Any], Any, str, dict[str, Any]]] = {
    "sum": (lambda a, b: a + b, 0, "i1 u1 i4 u8 f2 f4 f8 c8 c16", {}),
    "product": (lambda a, b: a * b, 1, "i1 u1 i4 u8 f2 f4 f8 c8 c16", {}),
    "xor": (lambda a, b: a ^ b, 0, "? i1 u1 i4 u8", {}),
    "and": (lambda a, b: a & b, -1, "i1 i4", {}),
    "either": (lambda a, b: a | b, False, "? u1", {}),
    "truth of numbers": (lambda a, b: ((a != 0) | (b != 0)).astype("i4"), 0, "i4", {}),
    "maximum": (m.maximum, -INF, "f2 f4 f8", {}),
    "maximum from a far number": (m.maximum, -1e30, "f4 f8", {}),
    "maximum of unsigned": (m.maximum, 0, "u1 u8", {}),
    "minimum": (lambda a, b: m.where(a < b, a, b), 2**31 - 1, "i4", {}),
    "logsumexp": (stable, -INF, "f4 f8", {}),
    "naive logsumexp": (lambda a, b: m.log(m.exp(a) + m.exp(b)), -INF, "f2 f4 f8", {}),
    "saturating sum": (lambda a, b: m.minimum(a.astype("u2") + b, 255).astype("u1"), 0, "u1", {}),
    "sum modulo": (lambda a, b: (a + b) % 10, 0, "i4 u1", {}),
    "product modulo": (lambda a, b: (a * b) % 1_000_003, 1, "i8", {}),
    "length of two": (lambda a, b: m.sqrt(a * a + b * b), 0.0, "f4 f8", {}),
    "either of two chances": (lambda a, b: a + b - a * b, 0.0, "f2 f4 f8", {}),
    "compound": (lambda a, b: a + b + a * b / 8, 0.0, "f2 f4 f8", {}),
    "speeds": (lambda a, b: (a + b) / (1 + a * b), 0.0, "f4 f8", {}),
    "odds": (lambda a, b: a * b / (a * b + (1 - a) * (1 - b)), 0.5, "f4 f8", {}),
    "last that is not zero": (lambda a, b: m.where(b == 0, a, b), 0, "i4 u1 f4 c8", {"commutative": False}),
    "first that is not zero": (lambda a, b: m.where(a == 0, b, a), 0, "i4 f4", {"commutative": False}),
    "first that is a number": (lambda a, b: m.where(m.isnan(a), b, a), float("nan"), "f4", {"commutative": False}),
    "longest": (lambda a, b: m.where(abs(b) > abs(a), b, a), 0.0, "f4", {"commutative": False}),
}  # fmt: skip
EACH = [(name, code) for name, (_, _, codes, _) in CORRECT.items() for code in codes.split()]


@pytest.mark.parametrize(("name", "code"), EACH)
def test_correct_operators_on_plain_numbers(name: str, code: str) -> None:
    combine, identity, _, more = CORRECT[name]
    bind(Operator(combine, identity, **more), code)


@pytest.mark.parametrize(
    ("combine", "identity", "code", "words"),
    [
        (lambda a, b: a + b, 100.0, "f4", "100.0 is not its identity, combine(identity, identity) is 200.0"),
        (lambda a, b: a + b, 1e-3, "f4", "0.001 is not its identity"),
        (lambda a, b: a * b, 0, "i4", "0 is not its identity, combine(identity, a) is 0 for a = 1"),
        (lambda a, b: a * b, 1j, "c8", "1j is not its identity"),
        (m.maximum, 0, "i4", "0 is not its identity, combine(identity, a) is 0 for a = -1"),
        (m.maximum, 0.0, "f4", "0.0 is not its identity, combine(identity, a) is 0.0 for a = -1.0"),
        (m.minimum, 0, "u1", "0 is not its identity, combine(identity, a) is 0 for a = 1"),
        (lambda a, b: a & b, False, "?", "False is not its identity, combine(identity, a) is False for a = True"),
        (lambda a, b: a + b, float("nan"), "f4", "nan is not its identity, combine(identity, a) is nan for a = 1.0"),
        (lambda a, b: m.log(m.exp(a) + m.exp(b)), 0.0, "f8", "0.0 is not its identity"),
    ],
)
def test_the_error_for_a_wrong_identity_shows_a_value_that_it_changes(combine: Any, identity: Any, code: str, words: str) -> None:
    message = refusal(Operator(combine, identity, name="mine"), code)
    assert message.startswith("operator mine: " + words) and "check=False" in message


@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
def test_an_identity_of_one_side_is_none(code: str) -> None:
    message = refusal(Operator(lambda a, b: b, 0, commutative=False), code)
    assert "combine(a, identity) is 0.0 for a = 1.0" in message


def middle(a: Any, b: Any) -> Any:
    """The mean of two, with 0 for nothing: the last values count most."""
    return m.where(a == 0, b, m.where(b == 0, a, (a + b) / 2))


def test_the_error_for_an_operator_that_is_not_associative_shows_three_values() -> None:
    assert (
        "operator middle is not associative: combine(combine(a, b), c) is 1.5 and combine(a, combine(b, c)) is 1.25 for "
        "a = 1.0, b = 1.0, c = 2.0"
    ) in refusal(Operator(middle, 0), "f4")
    for code in ("i1", "u8", "f2", "f8", "c8"):
        assert "not associative" in refusal(Operator(lambda a, b: a + b + (a * b) ** 2, 0), code)


@pytest.mark.parametrize("code", ["i4", "f4", "c16"])
def test_an_order_that_matters_must_be_claimed(code: str) -> None:
    message = refusal(Operator(lambda a, b: m.where(b == 0, a, b), 0, name="last"), code)
    assert message.startswith("operator last does not commute: combine(a, b) is ") and "pass commutative=False" in message
    bind(Operator(lambda a, b: m.where(b == 0, a, b), 0, commutative=False), code)


def test_ties_are_an_order_too() -> None:
    longest = (lambda a, b: m.where(abs(b) > abs(a), b, a), 0.0)
    assert "combine(a, b) is 1.0 and combine(b, a) is -1.0 for a = 1.0, b = -1.0" in refusal(Operator(*longest), "f4")


def test_nothing_is_tried_where_the_user_says_so() -> None:
    for wrong in (Operator(middle, 0, check=False), Operator(lambda a, b: a + b, 100.0, check=False)):
        bind(wrong, "f4")


# -------------------------------------------------------------------------------------------------------------- records
def dtype(**fields: Any) -> Any:
    return np.dtype([(name, *(of if isinstance(of, tuple) else (of,))) for name, of in fields.items()])


def chan(a: Any, b: Any) -> dict[str, Any]:
    """Counts, means and sums of squared distances (Chan, Golub and LeVeque 1979)."""
    n = a["n"] + b["n"]
    share, apart = b["n"] / m.maximum(n, 1), b["mean"] - a["mean"]
    return {"n": n, "mean": a["mean"] + apart * share, "m2": a["m2"] + b["m2"] + apart**2 * (a["n"] * share)}


def best(a: Any, b: Any) -> dict[str, Any]:
    """The largest value and its place, the first of equal ones."""
    take = (b["v"] > a["v"]) | ((b["v"] == a["v"]) & (b["at"] < a["at"]))
    return {name: m.where(take, b[name], a[name]) for name in ("v", "at")}


def tie(a: Any, b: Any) -> dict[str, Any]:
    """As `best`, but of equal values the one in front."""
    return {name: m.where(b["v"] > a["v"], b[name], a[name]) for name in ("v", "at")}


def ends(a: Any, b: Any) -> dict[str, Any]:
    return {
        "seen": a["seen"] | b["seen"],
        "first": m.where(a["seen"], a["first"], b["first"]), "last": m.where(b["seen"], b["last"], a["last"]),
    }  # fmt: skip


def restart(a: Any, b: Any) -> dict[str, Any]:
    """Sums that begin again at a flag: a segmented scan."""
    return {"flag": a["flag"] | b["flag"], "sum": m.where(b["flag"], b["sum"], a["sum"] + b["sum"])}


def stretch(a: Any, b: Any) -> dict[str, Any]:
    """The largest sum of neighbours."""
    return {
        "sum": a["sum"] + b["sum"],
        "head": m.maximum(a["head"], a["sum"] + b["head"]), "tail": m.maximum(b["tail"], b["sum"] + a["tail"]),
        "best": m.maximum(m.maximum(a["best"], b["best"]), a["tail"] + b["head"]),
    }  # fmt: skip


def brackets(a: Any, b: Any) -> dict[str, Any]:
    """Brackets that are open and closed, less those that match."""
    match = m.minimum(a["open"], b["close"])
    return {"open": a["open"] + b["open"] - match, "close": a["close"] + b["close"] - match}


def shift(a: Any, b: Any) -> dict[str, Any]:
    """log Σ exp(x) as a maximum and a sum relative to it."""
    top = m.maximum(a["top"], b["top"])
    parts = [m.where(p["top"] == -INF, 0.0, p["sum"] * m.exp(p["top"] - m.where(top == -INF, 0.0, top))) for p in (a, b)]
    return {"top": top, "sum": parts[0] + parts[1]}


def over(a: Any, b: Any) -> dict[str, Any]:
    """A colour over another one (Porter and Duff 1984), premultiplied."""
    return {name: a[name] + (1 - a["alpha"]) * b[name] for name in ("c", "alpha")}


RECORDS: dict[str, tuple[Callable[..., Any], Any, Any, bool]] = {
    "affine maps": (lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}, (1, 0), dtype(a="f4", b="f4"), False),
    "affine maps modulo 2^32": (lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}, (1, 0), dtype(a="u4", b="u4"), False),
    "mixed affine maps": (lambda f, g: {"a": f["a"] * g["a"], "b": (f["b"] * g["a"] + g["b"]).astype("i8")}, (1, 0), dtype(a="f4", b="i8"), False),
    "matrices": (lambda a, b: {"m": a["m"] @ b["m"]}, (np.eye(3),), dtype(m=("f4", (3, 3))), False),
    "matrices of halves": (lambda a, b: {"m": a["m"] @ b["m"]}, (np.eye(3),), dtype(m=("f2", (3, 3))), False),
    "matrices of bytes": (lambda a, b: {"m": (a["m"] @ b["m"]).astype("i1")}, (np.eye(4, dtype="i1"),), dtype(m=("i1", (4, 4))), False),
    "complex matrices": (lambda a, b: {"m": a["m"] @ b["m"]}, (np.eye(2),), dtype(m=("c8", (2, 2))), False),
    "moments": (chan, (0, 0, 0), dtype(n="f8", mean="f8", m2="f8"), True),
    "moments with a whole count": (chan, (0, 0, 0), dtype(n="i8", mean="f8", m2="f8"), True),
    "moments of three": (chan, (0, 0, 0), dtype(n="f4", mean=("f4", 3), m2=("f4", 3)), True),
    "argmax": (best, (-INF, 2**31 - 1), dtype(v="f4", at="i4"), True),
    "argmax in order": (tie, (-INF, 0), dtype(v="f4", at="i4"), False),
    "ends": (ends, (False, 0, 0), dtype(seen="?", first="f8", last="i2"), False),
    "segmented sum": (restart, (False, 0), dtype(flag="?", sum="f4"), False),
    "largest sum of neighbours": (stretch, (0, -INF, -INF, -INF), dtype(sum="f4", head="f4", tail="f4", best="f4"), False),
    "brackets": (brackets, (0, 0), dtype(open="i4", close="i4"), False),
    "shifted sums": (shift, (-INF, 0), dtype(top="f4", sum="f4"), True),
    "colours": (over, (0, 0), dtype(c="f4", alpha="f4"), False),
    "box": (lambda a, b: {"low": m.minimum(a["low"], b["low"]), "high": m.maximum(a["high"], b["high"])}, (INF, -INF), dtype(low="f4", high="f4"), True),
    "totals": (lambda a, b: {"n": a["n"] + b["n"], "z": a["z"] * b["z"], "any": a["any"] | b["any"]}, (0, 1, False), dtype(n="u1", z="c8", any="?"), True),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_correct_operators_on_records(name: str) -> None:
    combine, identity, of, commutes = RECORDS[name]
    bind(Operator(combine, identity, commutative=commutes), of)


@pytest.mark.parametrize("name", [name for name, (_, _, _, commutes) in RECORDS.items() if not commutes])
def test_records_whose_order_matters_are_not_taken_for_others(name: str) -> None:
    combine, identity, of, _ = RECORDS[name]
    assert "does not commute" in refusal(Operator(combine, identity), of)


@pytest.mark.parametrize(
    ("name", "identity", "message"),
    [
        ("argmax", (0.0, 2**31 - 1), "{'v': 0.0, 'at': 2147483647} is not its identity"),
        ("affine maps", (0, 0), "{'a': 0.0, 'b': 0.0} is not its identity, combine(identity, a) is {'a': "),
        ("matrices", (np.ones((3, 3)),), "is not its identity"),
        ("moments", (1, 0, 0), "is not its identity"),
        ("segmented sum", (True, 0), "is not its identity"),
        ("shifted sums", (0, 0), "is not its identity"),
        ("totals", (0, 0, False), "is not its identity"),
    ],
)
def test_a_wrong_identity_of_records(name: str, identity: Any, message: str) -> None:
    combine, _, of, commutes = RECORDS[name]
    assert message in refusal(Operator(combine, identity, commutative=commutes), of)


@pytest.mark.parametrize(
    ("combine", "identity", "of"),
    [
        (lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] + f["a"] * g["b"] * g["a"]}, (1, 0), dtype(a="f4", b="f4")),
        (lambda a, b: {"m": a["m"] @ b["m"].T}, (np.eye(3),), dtype(m=("f4", (3, 3)))),
        (lambda a, b: {"n": a["n"] + b["n"], "v": m.where(a["n"] == 0, b["v"], m.where(b["n"] == 0, a["v"], (a["v"] + b["v"]) / 2))},
         (0, 0), dtype(n="i4", v="f4")),
        (lambda a, b: {"flag": a["flag"] | b["flag"], "sum": m.where(b["flag"], b["sum"], a["sum"] + b["sum"] + a["sum"] * b["sum"] ** 2)},
         (False, 0), dtype(flag="?", sum="f4")),
    ],
)  # fmt: skip
def test_a_wrong_combine_of_records(combine: Any, identity: Any, of: Any) -> None:
    message = refusal(Operator(combine, identity, commutative=False), of)
    assert "is not associative" in message or "is not its identity" in message


# ------------------------------------------------------------------------------------------------------------- mechanics
def test_values_that_break_a_law_do_break_it() -> None:
    """The values of a message, put into the formula once more."""
    message = refusal(Operator(middle, 0), "f8")
    operands = {name: float(message.split(f"{name} = ")[1].split(",")[0].split(";")[0]) for name in "abc"}
    x, y = Symbol("x", np.dtype("f8")), Symbol("y", np.dtype("f8"))
    node = middle(x, y)

    def combine(a: float, b: float) -> float:
        return float(evaluate(node, {x: np.float64(a), y: np.float64(b)}))

    a, b, c = operands.values()
    assert combine(combine(a, b), c) != combine(a, combine(b, c))


def test_an_operator_is_tried_once_per_dtype() -> None:
    calls = []

    def combine(a: Any, b: Any) -> Any:
        calls.append(a.dtype)
        return a + b

    op = Operator(combine, 0)
    counts = []
    for code in ("f4", "f4", "i4", "f4", "i4"):
        before = len(calls)
        bind(op, code)
        counts.append(len(calls) - before)
    assert counts[0] == counts[2] > counts[1] == counts[3] == counts[4]


def test_a_refused_operator_is_refused_again() -> None:
    op = Operator(lambda a, b: a + b, 100.0)
    assert refusal(op, "f4") == refusal(op, "f4")


def test_opencl_c_of_ones_own_is_not_tried() -> None:
    bind(Operator(cm.c_source("a + b"), 100.0), "f4")


@pytest.mark.parametrize("code", CODES)
def test_samples_are_of_the_dtype_and_distinct(code: str) -> None:
    samples = plain_samples(np.dtype(code))
    assert samples.dtype == np.dtype(code) and len(set(samples.tolist())) == len(samples)
