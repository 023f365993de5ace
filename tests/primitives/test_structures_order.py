"""Users' operators on structures with small arrays keep the order of the line; against NumPy loops in 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_near, assert_same
from support.structures import LENGTHS, ROUNDINGS, wider

import clmapreduce as cm

pytestmark = pytest.mark.drawn


@dataclass(frozen=True)
class Case:
    """An operator that does not commute. `combine` serves the trace and NumPy alike; `random` gives values whose products
    stay near 1. Its floating fields are written as f4 and c8, and are twice as wide where the device has float64.
    """

    combine: Callable[[Any, Any], dict[str, Any]]
    identity: tuple[Any, ...]
    fields: list[tuple[Any, ...]]
    random: Callable[[np.random.Generator, np.ndarray], None]

    def dtype(self, context: cm.Context, align: bool = True) -> np.dtype:
        return np.dtype([(f[0], wider(f[1], context), *f[2:]) for f in self.fields], align=align)

    def operator(self) -> cm.Operator:
        return cm.Operator(self.combine, self.identity, commutative=False)

    def values(self, rng: np.random.Generator, length: int, dtype: np.dtype) -> np.ndarray:
        x = np.zeros(length, dtype)
        self.random(rng, x)
        return x

    def prefixes(self, x: np.ndarray) -> np.ndarray:
        """The identity, then every prefix of x combined from the left."""
        sums = np.zeros(len(x) + 1, wide(x.dtype))
        sums[0] = acc = np.array(self.identity, sums.dtype)
        for i, value in enumerate(x.astype(sums.dtype)):
            acc = self.combine(acc, value)
            for name, part in acc.items():
                sums[name][i + 1] = part
        return sums


def wide(dtype: np.dtype) -> np.dtype:
    """The dtype with floating fields of 64 bits a number."""
    parts = [(name, dtype[name].base, dtype[name].shape) for name in dtype.names]
    return np.dtype([(name, {"f": "f8", "c": "c16"}.get(base.kind, base), shape) for name, base, shape in parts])


def assert_fields_near(result: Any, expected: Any, length: int, label: object = "") -> None:
    """Integers and bools equal, floating fields within the roundings that a line of this length may gather."""
    assert result.dtype.names == expected.dtype.names
    for name in result.dtype.names:
        if result.dtype[name].base.kind in "fc":
            limit = (
                ROUNDINGS
                * (length + 1)
                * np.finfo(result.dtype[name].base).eps
                * max(1.0, np.abs(expected[name]).max(initial=0))
            )
            assert_near(result[name], expected[name], limit, (label, name))
        else:
            assert_same(result[name], expected[name], (label, name))


def random_integers(rng: np.random.Generator, x: np.ndarray) -> None:
    x["m"] = rng.integers(0, 1 << 32, x["m"].shape)


def random_relations(rng: np.random.Generator, x: np.ndarray) -> None:
    """Permutations with a pair more here and there: chains of them are seldom all false or all true."""
    x["r"] = np.eye(3, dtype=bool)[rng.permuted(np.tile(np.arange(3), (len(x), 1)), axis=1)]
    x["r"][rng.random(x["r"].shape) < 1e-4] = True


def random_units(rng: np.random.Generator, x: np.ndarray) -> None:
    q = rng.standard_normal(x["q"].shape)
    x["q"] = q / np.linalg.norm(q, axis=-1, keepdims=True)


def random_unitaries(rng: np.random.Generator, x: np.ndarray) -> None:
    x["n"] = rng.integers(0, 9, len(x))
    x["m"] = np.linalg.qr(rng.standard_normal(x["m"].shape) + 1j * rng.standard_normal(x["m"].shape))[0]


def random_contractions(rng: np.random.Generator, x: np.ndarray) -> None:
    x["a"] = 0.9 * np.linalg.qr(rng.standard_normal(x["a"].shape))[0]
    x["b"] = rng.standard_normal(x["b"].shape)


def quaternions(a: Any, b: Any) -> dict[str, Any]:
    """Hamilton's product, as a matrix of a times b."""
    w, x, y, z = a["q"]
    return {"q": np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]]) @ b["q"]}


CASES = {
    "matrix": Case(lambda a, b: {"m": a["m"] @ b["m"]}, (np.eye(2),), [("m", "u4", (2, 2))], random_integers),
    "relation": Case(lambda a, b: {"r": a["r"] @ b["r"]}, (np.eye(3),), [("r", "?", (3, 3))], random_relations),
    "quaternion": Case(quaternions, ((1, 0, 0, 0),), [("q", "f4", 4)], random_units),
    "complex": Case(
        lambda a, b: {"n": a["n"] + b["n"], "m": a["m"] @ b["m"]},
        (0, np.eye(2)), [("n", "i4"), ("m", "c8", (2, 2))], random_unitaries,
    ),
    "recurrence": Case(
        lambda f, g: {"a": g["a"] @ f["a"], "b": g["a"] @ f["b"] + g["b"]},
        (np.eye(2), 0), [("a", "f4", (2, 2)), ("b", "f4", 2)], random_contractions,
    ),
}  # fmt: skip


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def test_reduce_keeps_the_order(case: Case, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    product = cm.Reduce(case.operator())
    for length in LENGTHS:
        x = case.values(rng, length, case.dtype(context))
        expected = case.prefixes(x)[-1]
        for finish in ("device", "host"):
            result = product(x, context=context, mode=mode, finish=finish)
            assert_fields_near(result, expected, length, (finish, length))


@pytest.mark.parametrize("exclusive", [False, True])
def test_scan_keeps_the_order(
    exclusive: bool, case: Case, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    prefixes = cm.Scan(case.operator(), exclusive=exclusive)
    for length in LENGTHS:
        x = case.values(rng, length, case.dtype(context))
        expected = case.prefixes(x)
        result = prefixes(x, context=context, mode=mode)
        assert_fields_near(result, expected[:-1] if exclusive else expected[1:], length, length)


def test_partials_keep_the_order(case: Case, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in LENGTHS:
        x = case.values(rng, length, case.dtype(context))
        partials = cm.Partials(case.operator())(x, context=context, mode=mode)
        assert_fields_near(partials.prefix(mode=mode), case.prefixes(x), length, length)


def test_unfold_gives_powers(
    case: Case, context: cm.Context, mode: str, rng: np.random.Generator, request: pytest.FixtureRequest
) -> None:
    if case is CASES["relation"] and context.device.vendor == "pocl" and mode == "parallel":
        reason = (
            "PoCL 3.0 miscompiles it; -cl-opt-disable is right, 2×2 and 4×4 relations are too (docs/concepts/architecture.md)"
        )
        request.applymarker(pytest.mark.xfail(reason=reason, raises=AssertionError, strict=False))
    base = case.values(rng, 1, case.dtype(context))
    for length in LENGTHS:
        result = cm.Unfold(case.operator())(base[0], length, context=context, mode=mode)
        assert_fields_near(result, case.prefixes(np.repeat(base, length))[1:], length, length)


def test_nothing_gives_the_identity(case: Case, context: cm.Context, mode: str) -> None:
    dtype = case.dtype(context)
    op, x = case.operator(), np.zeros(0, dtype)
    identity = np.array(case.identity, dtype)
    assert_same(cm.Reduce(op)(x, context=context, mode=mode), identity)
    assert_same(cm.Scan(op)(x, context=context, mode=mode), x)
    assert_same(cm.Unfold(op)(identity, 0, context=context, mode=mode), x)
    assert_same(cm.Partials(op)(x, context=context, mode=mode).prefix(), identity.reshape(1))


def test_one_tile_is_the_oracle_of_many(context: cm.Context, rng: np.random.Generator) -> None:
    case = CASES["matrix"]
    x = case.values(rng, 1025, case.dtype(context))
    for primitive in (cm.Reduce(case.operator()), cm.Scan(case.operator())):
        oracle = primitive(x, context=context, mode="sequential", tiles=1)
        for mode in ("sequential", "parallel"):
            assert_same(primitive(x, context=context, mode=mode), oracle, mode)


@pytest.mark.parametrize("align", [False, True])
def test_unaligned_and_device_arrays(align: bool, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """NumPy packs the complex field to offset 4, or with align=True aligns it to its parts; kernels need more."""
    case = CASES["complex"]
    x = case.values(rng, 1000, case.dtype(context, align))
    expected = case.prefixes(x)
    device_array = cm.Reduce(case.operator())(cm.array(x, context), mode=mode)
    assert_fields_near(device_array.to_numpy(), expected[-1], 1000)
    own = cm.Operator(case.combine, case.identity, dtype=x.dtype, commutative=False)
    assert_fields_near(cm.Scan(own)(x, context=context, mode=mode), expected[1:], 1000)
    assert_fields_near(
        cm.Reduce(own)(x[::2], context=context, mode=mode, finish="host"), case.prefixes(x[::2])[-1], 1000
    )
