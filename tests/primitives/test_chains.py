"""Every legal chain of primitives up to length four, in both modes, against a NumPy interpreter of the same chain."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from interpreter import FUNCTIONS, Chain, Interpreter, Known, chosen, legal
from oracles import assert_near, assert_same

import clmapreduce as cm

MEANING = SimpleNamespace(where=cm.where, maximum=cm.math.maximum, exp=cm.math.exp, floor=cm.math.floor, index=cm.index)
OPERATORS: dict[str, Any] = {
    "times": cm.Operator(lambda a, b: a * b, 1, name="times"),
    "first": cm.Operator(lambda a, b: cm.where(a == 0, b, a), 0, commutative=False, name="first"),
    "last": cm.Operator(lambda a, b: cm.where(b == 0, a, b), 0, commutative=False, name="last"),
}
ALL = [kinds for length in (1, 2, 3, 4) for kinds in legal(length)]
SHORT = [kinds for kinds in ALL if len(kinds) <= 2]
LONG = [kinds for kinds in ALL if len(kinds) > 2]
FUSED = (0, 1, 2, 63, 64, 65, 300, 4096)
DEVICE = (66_001, 70_000, 99_991)
DTYPES = ("f4", "f8", "i4")


def named(kinds: tuple[str, ...]) -> str:
    return "-".join(kinds)


# ------------------------------------------------------------------------------------------------- from a description
def function_of(kind: str, name: str) -> Callable[..., Any]:
    f = FUNCTIONS[name]
    return (lambda s, x: f(MEANING, s, x)) if kind == "join" else (lambda x: f(MEANING, x))


def primitive(kind: str, name: str) -> Any:
    if kind in ("map", "one", "join"):
        return cm.Map(function_of(kind, name))
    exclusive = {"exclusive": True} if name.endswith(" before") else {}
    op = OPERATORS.get(name, name.removesuffix(" before"))
    return {"unfold": cm.Unfold, "reduce": cm.Reduce, "scan": cm.Scan, "partials": cm.Partials}[kind](op, **exclusive)


def composed(chain: Chain) -> Any:
    """The chain, made by `>>`."""
    return reduce(lambda first, second: first >> second, [primitive(*link) for link in chain])


def traced(chain: Chain, batch: bool = False) -> cm.Pipeline:
    """The chain, written as one function of vectors."""
    steps = [
        (kind, function_of(kind, name) if kind in ("map", "one", "join") else primitive(kind, name))
        for kind, name in chain
    ]

    def function(value: Any) -> Any:
        behind = value
        for kind, step in steps:
            if kind == "reduce":
                behind = value
            value = step(value, behind) if kind == "join" else step(value)
        return value

    made: cm.Pipeline = cm.fuse(function, batch=batch)
    return made


def numbers(rng: np.random.Generator, dtype: str, shape: Any, near: bool) -> np.ndarray:
    """Small numbers of both signs, or such that their products stay near 1."""
    count = int(np.max(shape, initial=1))
    if dtype == "i4":
        return rng.choice([-1, 1, 3] if near else [*range(-9, 10), 0, 0, 0], shape).astype(dtype)
    return (1 + rng.uniform(-1, 1, shape) / count if near else rng.uniform(-2, 2, shape)).astype(dtype)


def check(got: Any, expected: Known, told: Any) -> None:
    """Asserts dtype, shape, and numbers within the interpreter's bound."""
    got = np.asarray(got)
    assert got.dtype == expected.dtype, (got.dtype, expected.dtype, told)
    if got.dtype.kind == "b":
        got = got.astype(np.int64)
    if got.dtype.kind in "iu" and not np.any(expected.error):
        assert_same(got.astype(np.int64), np.asarray(expected.numbers), told)
    else:
        assert_near(got, expected.numbers, expected.error, told)


def same_bits(a: Any, b: Any, told: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape) == (b.dtype, b.shape), told
    assert a.tobytes() == b.tobytes(), (told, a, b)


class Example:
    """A chain with numbers for it, and what it gives."""

    def __init__(
        self, kinds: tuple[str, ...], length: int, dtype: str, seed: int, pick: Callable[[list[str]], str], fp64: bool,
        rows: int | None = None,
    ) -> None:  # fmt: skip
        rng = np.random.default_rng(seed)
        self.length, self.unfolds = length, kinds[0] == "unfold"
        near = self.unfolds or bool(rng.integers(2))
        line = () if self.unfolds else (length,)
        self.interpreter = Interpreter(length, fp64)
        if rows is None:
            self.x = numbers(rng, dtype, line, near)[()]
            if self.unfolds and dtype != "i4":
                self.x = self.x.dtype.type(1 + rng.uniform(-1, 1) / max(length, 1))
        else:
            self.x = numbers(rng, dtype, (rows, *(line or (1,))), near)
        first = self.x if rows is None else self.x[0] if not self.unfolds else self.x[0, 0]
        self.chain = chosen(kinds, Known.exact(first), self.interpreter, pick)
        self.told = f"{self.chain}, length {length}, {dtype}, rows {rows}, seed {seed}"

    def arguments(self) -> tuple[Any, ...]:
        return (self.x, self.length) if self.unfolds else (self.x,)

    def run(self, context: cm.Context, mode: str, **more: Any) -> None:
        """Asserts that both ways to write the chain give what the interpreter does, and the same bits."""
        expected = self.interpreter.run(self.chain, Known.exact(self.x))
        how = {"context": context, "mode": mode, **more}
        got = composed(self.chain)(*self.arguments(), **how)
        fused = traced(self.chain)(self.x, **how, **({"length": self.length} if self.unfolds else {}))
        if self.chain[-1][0] == "partials":
            same_bits(got.values, fused.values, self.told)
            got, fused = got.prefix(mode=mode), fused.prefix(mode=mode)
        check(got, expected, self.told)
        same_bits(got, fused, self.told)


def picker(rng: np.random.Generator) -> Callable[[list[str]], str]:
    return lambda names: str(rng.choice(names))


# -------------------------------------------------------------------------------------------------------------- tests
def test_all_legal_sequences_are_there() -> None:
    assert [len(list(legal(length))) for length in (1, 2, 3, 4)] == [5, 15, 44, 132]


@pytest.mark.parametrize("kinds", SHORT, ids=named)
def test_short_chains(kinds: tuple[str, ...], context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (int(rng.choice(FUSED)), int(rng.choice(DEVICE))):
        dtype = str(rng.choice(DTYPES))
        Example(kinds, length, dtype, int(rng.integers(1 << 32)), picker(rng), context.facts.fp64).run(context, mode)
