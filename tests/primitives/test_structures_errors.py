"""Structures, combines, identities and bases that do not fit are refused, and the message says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm

pytestmark = pytest.mark.drawn

M = np.dtype([("m", "f4", (2, 2)), ("n", "i4")])


@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        ([("a", [("b", "f4")])], "field 'a' is a structure itself; give its parts as fields of the outer one"),
        ([("a", [("b", "f4")], 2)], "field 'a' is a structure itself"),
        ([("m", "f4", 65)], "array fields of 65 elements together; a record may have 64, pass what is larger as plain arrays"),
        ([("m", "f4", (6, 6)), ("n", "f4", (6, 6))], "array fields of 72 elements together; a record may have 64"),
        ([("m", "U3", 2)], "field 'm' has dtype <U3; fields must be numbers or bools, or arrays of them"),
        ([("m", "f4", (2, 0))], r"field 'm' of shape \(2, 0\) has no elements"),
    ],
)  # fmt: skip
def test_structures_that_no_kernel_holds(dtype: Any, message: str, context: cm.Context) -> None:
    x = np.zeros(3, dtype)
    op = cm.Operator(lambda a, b: a, 0)
    for call in (cm.Map(lambda a: a), cm.Reduce(op), cm.Scan(op), cm.Partials(op), cm.array):
        with pytest.raises(cm.DTypeError, match=f"^the array: {message}"):
            call(x, context=context)
    with pytest.raises(cm.DTypeError, match=f"^the operator: {message}"):
        cm.Operator(lambda a, b: a, 0, dtype=dtype)


def test_a_map_cannot_make_what_no_kernel_holds(context: cm.Context) -> None:
    for f in (
        lambda x: {"m": [[x] * 9] * 9},
        lambda x: {"m": np.zeros(10**6)},
        lambda x: {"m": [x] * 40, "n": [x] * 40},
    ):
        with pytest.raises(cm.DTypeError, match=r"elements together; a record may have 64"):
            cm.Map(f)(np.ones(3, np.float32), context=context)


@pytest.mark.parametrize(
    ("combine", "message"),
    [
        (lambda a, b: {"m": a["m"]}, "gives 'm'; its values are 'm', 'n'"),
        (lambda a, b: {"m": a["m"], "n": a["n"], "k": 1}, "gives 'm', 'n', 'k'; its values are 'm', 'n'"),
        (lambda a, b: a["n"], "gives a plain number; its values are 'm', 'n'"),
        (
            lambda a, b: {**a, "m": a["m"][0]},
            r"field 'm' comes out as an array of shape \(2,\); it must be an array of shape \(2, 2\)$",
        ),
        (
            lambda a, b: {**a, "m": np.eye(3)},
            r"field 'm' comes out as an array of shape \(3, 3\); it must be an array of shape \(2, 2\)$",
        ),
        (
            lambda a, b: {**a, "m": a["n"]},
            r"field 'm' comes out as a single number; it must be an array of shape \(2, 2\)$",
        ),
        (lambda a, b: {**a, "m": 0}, r"field 'm' comes out as a single number; it must be an array of shape \(2, 2\)$"),
        (
            lambda a, b: {**a, "n": [a["n"]]},
            r"field 'n' comes out as an array of shape \(1,\); it must be a single number$",
        ),
        (lambda a, b: {**a, "n": a["n"] * 0.5}, "'n' comes out as float64, which int32 cannot hold without loss"),
        (lambda a, b: {**a, "m": a["m"] * 1j}, "'m' comes out as complex64, which float32 cannot hold without loss"),
    ],
)
def test_a_combine_that_gives_other_fields(combine: Any, message: str, context: cm.Context) -> None:
    op = cm.Operator(combine, (0, 0), name="mine")
    for primitive in (cm.Reduce(op), cm.Scan(op), cm.Partials(op)):
        with pytest.raises(cm.DTypeError, match=f"^operator mine:? {message}"):
            primitive(np.zeros(3, M), context=context)
    with pytest.raises(cm.DTypeError, match=f"^operator mine:? {message}"):
        cm.Unfold(op)(np.zeros(1, M)[0], 3, context=context)


@pytest.mark.parametrize("identity", [(0,), (np.eye(3), 0), ([1, 2, 3], 0), ("text", 0), np.zeros(2, M), [(0, 0)] * 2])
def test_identities_that_do_not_fit(identity: Any, context: cm.Context) -> None:
    op = cm.Operator(lambda a, b: a, identity, name="mine")
    with pytest.raises(cm.DTypeError, match=r"^operator mine: identity"):
        cm.Reduce(op)(np.zeros(3, M), context=context)


def test_an_identity_fills_fields_as_in_numpy(context: cm.Context, mode: str) -> None:
    x = np.zeros(0, M)
    for identity in (0, (0, 0), ([0, 0], 0), (np.zeros((2, 1)), 0), np.zeros((), M), np.zeros((), M)[()]):
        op = cm.Operator(lambda a, b: {"m": a["m"] + b["m"], "n": a["n"] + b["n"]}, identity)
        assert_same(cm.Reduce(op)(x, context=context, mode=mode), np.zeros((), M))


def test_values_of_another_shape(context: cm.Context) -> None:
    op = cm.Operator(lambda a, b: {"m": a["m"] + b["m"]}, (0,), [("m", "f4", (2, 2))])
    for other in ("f4", ("f4", 4), ("f4", (2, 3)), ("f4", (2, 2, 1))):
        with pytest.raises(cm.DTypeError, match=r"is for .*; values have"):
            cm.Reduce(op)(np.zeros(3, [("m", other)]), context=context)
    with pytest.raises(cm.DTypeError, match="without loss"):
        cm.Reduce(op)(np.zeros(3, [("m", "c8", (2, 2))]), context=context)
    assert cm.Reduce(op)(np.ones(3, [("m", "i2", (2, 2))]), context=context)["m"].tolist() == [[3, 3], [3, 3]]


def test_bases_that_do_not_fit(context: cm.Context) -> None:
    power = cm.Unfold(cm.Operator(lambda a, b: {"m": a["m"] @ b["m"]}, (np.eye(2),), commutative=False))
    dtype = [("m", "f4", (2, 2))]
    for base in ((np.eye(3),), ("text",), (1, 2)):
        with pytest.raises(cm.DTypeError, match=r"^the base"):
            power(base, 3, dtype=dtype, context=context)
    with pytest.raises((cm.DTypeError, cm.ShapeError)):
        power([np.eye(2), np.eye(2)], 3, dtype=dtype, context=context)
