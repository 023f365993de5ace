"""Every legal chain of primitives up to length four, in both modes, against a NumPy interpreter of the same chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.bounded_numbers import Bounded
from support.chain_oracle import FUNCTIONS, Chain, Interpreter, choose_chain, legal
from support.oracles import assert_near, assert_same, prefixes

import clmapreduce as cm

pytestmark = pytest.mark.drawn

MEANING = SimpleNamespace(where=cm.where, maximum=cm.math.maximum, exp=cm.math.exp, floor=cm.math.floor, index=cm.index)
OPERATORS: dict[str, Any] = {
    "times": cm.Operator(lambda a, b: a * b, 1, name="times"),
    "first": cm.Operator(lambda a, b: cm.where(a == 0, b, a), 0, commutative=False, name="first"),
    "last": cm.Operator(lambda a, b: cm.where(b == 0, a, b), 0, commutative=False, name="last"),
}
ALL = [kinds for length in (1, 2, 3, 4) for kinds in legal(length)]
SHORT = [kinds for kinds in ALL if len(kinds) <= 2]
LONG = [kinds for kinds in ALL if len(kinds) > 2]
WHOLE = [kinds for kinds in ALL if kinds[-1] != "partials"]
LENGTHS = (0, 1, 2, 16, 17, 63, 64, 65, 300, 4096)
DEVICE = (66_001, 70_000, 99_991)
DTYPES = ("f4", "f8", "i4")
RANDOM = settings(
    deadline=None, database=None, print_blob=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
"""Other chains in every run. Nothing is shrunk: chains are short as they are, and each attempt builds kernels."""
Pick = Callable[[list[str]], str]


def name_of(kinds: tuple[str, ...]) -> str:
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


def compose(chain: Chain) -> Any:
    """The chain, made by `>>`."""
    return reduce(lambda first, second: first >> second, [primitive(*link) for link in chain])


def pipeline_of(chain: Chain, batch: bool = False) -> cm.Pipeline:
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

    pipeline: cm.Pipeline = cm.fuse(function, batch=batch)
    return pipeline


def numbers(rng: np.random.Generator, dtype: str, shape: Any, near: int | None) -> np.ndarray:
    """Small numbers of both signs; or numbers so near 1 that a product of `near` of them stays near 1."""
    if dtype == "i4":
        return np.asarray(rng.choice([*range(-9, 10), 0, 0, 0] if near is None else [-1, 1, 3], shape)).astype(dtype)
    if near is None:
        return np.asarray(rng.uniform(-2, 2, shape)).astype(dtype)
    return np.asarray(1 + rng.uniform(-1, 1, shape) / max(near, 1)).astype(dtype)


def check(result: Any, expected: Bounded, label: Any) -> None:
    """Asserts dtype, shape, and numbers within the interpreter's bound."""
    result = np.asarray(result)
    assert result.dtype == expected.dtype, (result.dtype, expected.dtype, label)
    if result.dtype.kind == "b":
        result = result.astype(np.int64)
    if result.dtype.kind in "iu" and not np.any(expected.error):
        assert_same(result.astype(np.int64), np.asarray(expected.numbers), label)
    else:
        assert_near(result, expected.numbers, expected.error, label)


def same_bits(a: Any, b: Any, label: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape) == (b.dtype, b.shape), label
    assert a.tobytes() == b.tobytes(), (label, a, b)


class Example:
    """A chain with numbers for it. rows: the leading axes of a batch; () for one line."""

    def __init__(
        self,
        kinds: tuple[str, ...],
        length: int,
        dtype: str,
        seed: int,
        pick: Pick,
        fp64: bool,
        rows: tuple[int, ...] = (),
    ) -> None:
        rng = np.random.default_rng(seed)
        self.rows, self.length, self.unfolds = rows, length, kinds[0] == "unfold"
        near = self.unfolds or bool(rng.integers(2))
        line = (1 if rows else ()) if self.unfolds else length
        shape = (*rows, line) if line != () else ()
        self.x = numbers(rng, dtype, shape, length if near else None)[()]
        self.interpreter = Interpreter(length, fp64)
        self.lines = {at: Bounded.exact(self.x[(*at, 0) if rows and self.unfolds else at]) for at in np.ndindex(rows)}
        self.chain = choose_chain(kinds, list(self.lines.values()), self.interpreter, pick)
        self.label = f"{self.chain}, length {length}, {dtype}, rows {rows}, seed {seed}"

    def run(self, context: cm.Context, mode: str, **more: Any) -> None:
        """Asserts that both ways to write the chain give what the interpreter does, and the same bits."""
        how = {"context": context, "mode": mode, **more}
        length = {"length": self.length} if self.unfolds else {}
        result = pipeline_of(self.chain, batch=bool(self.rows))(self.x, **how, **length)
        pipeline = compose(self.chain)
        alone = not isinstance(pipeline, cm.Pipeline)  # a primitive has no batch=, and tiles of its own for tiles=1
        if not (alone and (self.rows or "tiles" in more)):
            how |= {"batch": True} if self.rows else {}
            again = pipeline(self.x, *length.values(), **how)
            same_bits(self.values_of(result), self.values_of(again), self.label)
            same_bits(self.whole(result, mode), self.whole(again, mode), self.label)
        self.check(self.whole(result, mode))

    def values_of(self, result: Any) -> Any:
        """The result; of partials, the stored prefixes."""
        return result.values if self.chain[-1][0] == "partials" else result

    def whole(self, result: Any, mode: str) -> Any:
        """The numbers that the interpreter computes: of partials, every prefix."""
        return result.prefix(mode=mode) if self.chain[-1][0] == "partials" else result

    def check(self, result: Any) -> None:
        result = np.asarray(result)
        for at, line in self.lines.items():
            expected = self.interpreter.run(self.chain, line)
            shape = (*self.rows, *np.shape(expected.numbers))
            assert result.shape == shape, (result.shape, shape, self.label)
            check(result[at], expected, (at, self.label))


def random_example(
    kinds: tuple[str, ...], lengths: Sequence[int], rng: np.random.Generator, context: cm.Context, **more: Any
) -> Example:
    """An example of these kinds, everything else by chance."""
    length, dtype = int(rng.choice(lengths)), str(rng.choice(DTYPES))
    seed = int(rng.integers(1 << 32))
    return Example(kinds, length, dtype, seed, lambda names: str(rng.choice(names)), context.facts.fp64, **more)


# -------------------------------------------------------------------------------------------------------------- tests
def test_all_legal_sequences_are_there() -> None:
    assert [len(list(legal(length))) for length in (1, 2, 3, 4)] == [5, 15, 44, 132]


@pytest.mark.parametrize("kinds", SHORT, ids=name_of)
def test_short_chains(kinds: tuple[str, ...], context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    random_example(kinds, LENGTHS, rng, context).run(context, mode)
    random_example(kinds, DEVICE, rng, context).run(context, mode)


@settings(RANDOM, max_examples=8)
@given(data=st.data())
def test_longer_chains(data: st.DataObject, context: cm.Context, mode: str) -> None:
    kinds = data.draw(st.sampled_from(LONG), "kinds")
    length, dtype = data.draw(st.sampled_from([*LENGTHS, *DEVICE]), "length"), data.draw(st.sampled_from(DTYPES), "dtype")
    seed = data.draw(st.integers(0, 2**32 - 1), "seed")
    Example(kinds, length, dtype, seed, lambda names: data.draw(st.sampled_from(names)), context.facts.fp64).run(
        context, mode
    )


@settings(RANDOM, max_examples=6)
@given(data=st.data())
def test_batches(data: st.DataObject, context: cm.Context, mode: str) -> None:
    """Rows side by side, or walked by groups: what the interpreter gives row by row."""
    kinds = data.draw(st.sampled_from(WHOLE), "kinds")
    length, dtype = data.draw(st.sampled_from(LENGTHS), "length"), data.draw(st.sampled_from(DTYPES), "dtype")
    rows = data.draw(st.sampled_from([(1,), (3,), (37,), (2, 5), (130,)]), "rows")
    seed = data.draw(st.integers(0, 2**32 - 1), "seed")
    Example(kinds, length, dtype, seed, lambda names: data.draw(st.sampled_from(names)), context.facts.fp64, rows).run(
        context, mode
    )


@pytest.mark.parametrize("kinds", ALL[::7], ids=name_of)
def test_one_item_alone(kinds: tuple[str, ...], context: cm.Context, rng: np.random.Generator) -> None:
    random_example(kinds, LENGTHS, rng, context).run(context, "sequential", tiles=1)


@pytest.mark.sweep
@pytest.mark.parametrize("kinds", ALL, ids=name_of)
def test_every_chain(kinds: tuple[str, ...], context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    random_example(kinds, LENGTHS, rng, context).run(context, mode)
    random_example(kinds, DEVICE, rng, context).run(context, mode)


@pytest.mark.sweep
@pytest.mark.parametrize("kinds", WHOLE, ids=name_of)
def test_every_batch(kinds: tuple[str, ...], context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    random_example(kinds, LENGTHS[:8], rng, context, rows=(37,)).run(context, mode)
    random_example(kinds, LENGTHS[8:], rng, context, rows=(2, 3)).run(context, mode)


@pytest.mark.sweep
@pytest.mark.parametrize("kinds", ALL, ids=name_of)
def test_every_chain_by_one_item(kinds: tuple[str, ...], context: cm.Context, rng: np.random.Generator) -> None:
    random_example(kinds, LENGTHS, rng, context).run(context, "sequential", tiles=1)


# -------------------------------------------------------------------------------------------------------------- records
LINE = np.dtype([("a", "u4"), ("b", "u4")])
"""x ↦ a·x + b, with integers that wrap, so that every order of combining gives the same bits."""
affine = cm.Operator(
    lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}, (1, 0), LINE, commutative=False, name="affine"
)


def lines(x: np.ndarray) -> list[tuple[int, int]]:
    """The composed maps (2k + 1)·x + k of all k in x, up to every one; the identity first."""
    word = 1 << 32
    return prefixes(
        lambda f, g: (f[0] * g[0] % word, (f[1] * g[0] + g[1]) % word), (1, 0), [(2 * k + 1, k) for k in x.tolist()]
    )


@pytest.mark.parametrize("length", [65, 70_001])
def test_records_in_order(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    how: Any = {"context": context, "mode": mode}
    x = rng.integers(0, 99, length).astype(np.uint32)
    expected = np.array(lines(x), LINE)
    records = cm.Map(lambda k: {"a": k * 2 + 1, "b": k})
    field = cm.Map(lambda r: r["b"])
    assert_same((records >> cm.Reduce(affine))(x, **how), expected[-1])
    assert_same((records >> cm.Partials(affine))(x, **how).prefix(mode=mode), expected)
    total = (records >> cm.Scan(affine) >> field >> cm.Reduce("sum"))(x, **how)
    assert_same(total, expected["b"][1:].sum(dtype=np.uint64))
    before = (records >> cm.Scan(affine, exclusive=True) >> cm.Map(lambda r: r["a"] + r["b"]))(x, **how)
    assert_same(before, (expected["a"] + expected["b"])[:-1])
    both = records >> cm.Reduce(affine) >> cm.Map(lambda s, r: s["a"] * r["b"] + s["b"]) >> cm.Reduce("maximum")
    assert_same(both(x, **how), (expected["a"][-1] * x + expected["b"][-1]).max())
    powers = np.array(
        prefixes(
            lambda f, g: (f[0] * g[0] % 2**32, (f[1] * g[0] + g[1]) % 2**32), (1, 0), [expected[-1].tolist()] * length
        ),
        LINE,
    )
    assert_same((records >> cm.Reduce(affine) >> cm.Unfold(affine))(x, **how), powers[1:])
    assert_same(
        (cm.Unfold(affine) >> field >> cm.Scan("maximum"))(expected[-1], length, **how),
        np.maximum.accumulate(powers["b"][1:]),
    )
