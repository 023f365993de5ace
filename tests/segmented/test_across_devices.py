"""One launch box, several devices: chunks are cut by the sizes alone and pieces merged in order, so bits must agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_segments import RANDOM, geometries, offsets_in_shape

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.tracing import identity
from clmapreduce.reductions.segment import segment_operator
from clmapreduce.schemes.segments.boxes import LanesBox, SegmentBox, TeamBox
from clmapreduce.segmented.call import Element, SegmentCall, SegmentOperands, prepare_segments

CPUS = [device for device in cm.devices() if device.facts.kind == "cpu"]
BOXES = {
    "lanes": ("sequential", LanesBox(1, 2048, 128, bytes=64)),
    "walk": ("sequential", SegmentBox(1, 2048, 128, bytes=64)),
    "parallel walk": ("parallel", SegmentBox(32, 64, 1 << 16, join_block=32)),
    "team": ("parallel", TeamBox(most=4096, join_block=32)),
    "striped": ("parallel", TeamBox(most=2100, least=2100, window=1, join_block=8, blocked=False, teams=4)),
}
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPU devices")


@pytest.fixture(scope="module")
def contexts() -> list[cm.Context]:
    """One context per CPU device."""
    return [cm.Context(device) for device in CPUS]


def reduce(context: cm.Context, box: str, values: Any, offsets: Any, op: str) -> Any:
    mode, launch_box = BOXES[box]
    prepared = prepare_segments(
        SegmentCall(*segment_operator(op), identity),
        SegmentOperands(context, [Element(values)], offsets, values.size, (), offsets.size - 1, False),
        Options(mode, context),
        launch_box,
    )  # fmt: skip
    return prepared.run()[0] if isinstance(prepared, Prepared) else prepared[0]


def assert_one_bit_pattern(results: list[Any], label: object) -> None:
    for other in results[1:]:
        differ = np.flatnonzero(results[0].view("u1") != other.view("u1"))
        assert results[0].tobytes() == other.tobytes(), (label, differ[:5], results[0].size)


def numbers(rng: np.random.Generator, length: int) -> Any:
    """Of many sizes, so that the order of additions shows in the last bits."""
    return (rng.standard_normal(length) * 2.0 ** rng.integers(-12, 12, length)).astype("f4")


@pytest.mark.parametrize("op", ["sum", "maximum", "mean"])
@pytest.mark.parametrize("box", BOXES)
def test_segments_give_the_same_bits(box: str, op: str, contexts: list[cm.Context], rng: np.random.Generator) -> None:
    for shape in ("1 to 40", "1 to 4000", "power law", "a giant among ones", "at the ends of chunks"):
        offsets = offsets_in_shape(shape, rng)
        values = numbers(rng, int(offsets[-1]))
        assert_one_bit_pattern([reduce(c, box, values, offsets, op) for c in contexts], (box, op, shape))


@RANDOM
@given(offsets=geometries(), box=st.sampled_from(sorted(BOXES)), op=st.sampled_from(["sum", "maximum", "mean"]), seed=st.integers(0, 2**32))
def test_random_segments_give_the_same_bits(contexts: list[cm.Context], offsets: Any, box: str, op: str, seed: int) -> None:
    values = numbers(np.random.default_rng(seed), int(offsets[-1]))
    assert_one_bit_pattern([reduce(c, box, values, offsets, op) for c in contexts], (box, op))


def test_runs_of_keys_give_the_same_bits(contexts: list[cm.Context], mode: str, rng: np.random.Generator) -> None:
    """The boxes of CPUs are one per mode."""
    for op in ("sum", "maximum", "mean"):
        lengths = np.concatenate([rng.integers(1, 40, 700), [5000, 1, 513]])
        keys = np.repeat(np.arange(lengths.size) % 3, lengths)
        values = numbers(rng, keys.size)
        pairs = [cm.reduce_by_key(keys, values, op, context=c, mode=mode) for c in contexts]
        assert_one_bit_pattern([sums for _, sums in pairs], (op, mode))
        assert_one_bit_pattern([keys_of_runs for keys_of_runs, _ in pairs], (op, mode))


def test_sparse_products_give_the_same_bits(contexts: list[cm.Context], mode: str, rng: np.random.Generator) -> None:
    """Entries are powers of two: compilers may round a product and its sum together, and each does as it likes."""
    for shape in ("1 to 40", "1 to 4000", "power law", "a giant among ones"):
        indptr = offsets_in_shape(shape, rng)
        size = int(indptr[-1])
        matrix = indptr, rng.integers(0, 2000, size), (2.0 ** rng.integers(-6, 6, size)).astype("f4")
        for trailing in ((), (3,)):
            x = numbers(rng, 2000 * int(np.prod(trailing, dtype=int))).reshape(2000, *trailing)
            products = [cm.spmv(matrix, x, context=c, mode=mode) for c in contexts]
            assert_one_bit_pattern(products, (shape, trailing, mode))
