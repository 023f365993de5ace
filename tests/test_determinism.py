"""Same device, same launch box, same input: the same bits, run after run, at any address of the input."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.oracles import values

import clmapreduce as cm

pytestmark = pytest.mark.drawn

ROOT = Path(__file__).resolve().parents[1]
REPEATS = {1: 3, 257: 30, 30_011: 10}
"""By length."""
AFFINE = cm.Operator(
    lambda first, then: {"a": first["a"] * then["a"], "b": first["b"] * then["a"] + then["b"]},
    np.array((1, 0), [("a", "f4"), ("b", "f4")])[()],
    dtype=[("a", "f4"), ("b", "f4")],
    commutative=False,
    name="affine",
)
CALLS: dict[str, Callable[..., Any]] = {
    "sum": lambda x, **how: cm.Reduce("sum")(x, **how),
    "fast sum": lambda x, **how: cm.Reduce("sum")(x, accumulate="fast", **how),
    "compensated sum": lambda x, **how: cm.Reduce("sum")(x, accumulate="compensated", **how),
    "finish on host": lambda x, **how: cm.Reduce("sum")(x, finish="host", **how),
    "product": lambda x, **how: cm.Reduce("product")(x, **how),
    "logsumexp": lambda x, **how: cm.Reduce("logsumexp")(x, **how),
    "dot": lambda x, **how: (cm.Map("x * x / 3") >> cm.Reduce("sum"))(x, **how),
    "scan": lambda x, **how: cm.Scan("sum")(x, **how),
    "exclusive scan": lambda x, **how: cm.Scan("logsumexp", exclusive=True)(x, **how),
    "partials": lambda x, **how: cm.Partials("sum")(x, **how).values,
    "prefixes": lambda x, **how: cm.Partials("logsumexp")(x, **how).prefix(),
    "affine scan": lambda x, **how: (cm.Map(lambda x: {"a": x * 0 + 0.75, "b": x}) >> cm.Scan(AFFINE))(x, **how),
    "series": lambda x, **how: cm.series.sin(x, 40, **how),
}


def bits(result: Any) -> bytes:
    return np.asarray(result).tobytes()


@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits_run_after_run(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    call = CALLS[name]
    other = cm.Context(context.device)
    for length, repeats in REPEATS.items():
        x = values(rng, "f4", length)
        first = bits(call(x, context=context, mode=mode))
        for repeat in range(repeats):
            assert bits(call(x, context=context, mode=mode)) == first, (length, repeat)
        elsewhere = np.empty(length + 3, np.float32)[3:]  # the same values at an address that suits no vector
        elsewhere[:] = x
        assert bits(call(elsewhere, context=context, mode=mode)) == first, (length, "at another address")
        for home in (context, other):
            on_device = cm.array(x, home)
            assert bits(call(on_device, mode=mode)) == first, (length, "on the device")
            assert bits(call(on_device, mode=mode)) == first, (length, "on the device, again")
            assert bits(call(x, context=home, mode=mode)) == first, (length, "in another context")


@pytest.mark.parametrize("op", ["product", "sum"])
def test_unfolds(op: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    other = cm.Context(context.device)
    for length, repeats in REPEATS.items():
        base = np.float32(rng.uniform(0.999, 1.001))
        first = bits(cm.Unfold(op)(base, length, context=context, mode=mode))
        for _ in range(repeats):
            assert bits(cm.Unfold(op)(base, length, context=context, mode=mode)) == first, length
        for home in (context, other):
            assert bits(cm.Unfold(op)(base, length, context=home, mode=mode)) == first, length
            assert bits(cm.Unfold(op)(cm.array(base, home), length, mode=mode)) == first, length


def test_what_runs_in_between_changes_nothing(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Recycled scratch with other contents, other kernels before and after."""
    x, noise = values(rng, "f4", 30_011), values(rng, "f8", 9_973)
    order = list(itertools.islice(itertools.cycle(CALLS), 3 * len(CALLS)))
    rng.shuffle(order)
    first = {name: bits(call(x, context=context, mode=mode)) for name, call in CALLS.items()}
    for name in order:
        cm.Scan("sum")(noise, context=context, mode=mode)
        assert bits(CALLS[name](x, context=context, mode=mode)) == first[name], name


def test_a_given_output_gets_the_same_bits(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """A caller's array may start anywhere; large ones of ours are stored past the caches."""
    dtype = np.float64 if context.device.fp64 else np.float32
    x = values(rng, dtype, 4_300_000 // np.dtype(dtype).itemsize)
    for call in (lambda **how: cm.Map("x * x + 0.1")(x, **how), lambda **how: cm.Scan("sum")(x, **how)):
        first = call(context=context, mode=mode)
        for offset in (1, 5):
            out = np.zeros(x.size + 8, dtype)[offset : offset + x.size]
            assert call(context=context, mode=mode, out=out) is out
            assert out.tobytes() == first.tobytes(), offset


def digest(context: cm.Context) -> str:
    """One number for all bits of all calls in all modes, from the same values in every process."""
    x = values(np.random.default_rng(5), "f4", 30_011)
    hasher = hashlib.sha256()
    for mode in context.device.modes:
        for call in CALLS.values():
            hasher.update(bits(call(x, context=context, mode=mode)))
    return hasher.hexdigest()


def test_another_process_gets_the_same_bits(context: cm.Context) -> None:
    ours = digest(context)  # first: where there is no float64 it says so here, and not in the other process
    code = f"""
import sys
sys.path[:0] = {[str(ROOT), str(ROOT / "tests")]!r}
import clmapreduce as cm, test_determinism
print(test_determinism.digest(cm.Context(cm.devices()[{cm.devices().index(context.device)}])))
"""
    process = subprocess.run(
        [sys.executable, "-c", code], env=dict(os.environ), capture_output=True, text=True, timeout=200, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == ours
