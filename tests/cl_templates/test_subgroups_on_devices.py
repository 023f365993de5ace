"""Sub-groups of every width, where a device has them: items get the values they ask for, and results are what they are elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.matrix_units import units_everywhere
from support.named_reduce import COMBINATIONS, reduce_by_name
from support.oracles import PRIME, assert_near, assert_same, check_reduced, factors, scan_tolerance, values
from support.random_segments import check_segments, offsets_in_shape
from support.template_words import helper, rendering_of

import clmapreduce as cm
from clmapreduce.domain.marked import TILE
from clmapreduce.schemes.segments.boxes import TeamBox
from clmapreduce.schemes.segments.team import Teams
from clmapreduce.segmented import keys as front
from hostsched import JobGraph, KernelJob, build
from hostsched.device.traits import with_subgroups

pytestmark = pytest.mark.drawn
GROUP = 64
SIZES = (1, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 65, 1023, 1025, PRIME)
"""Around every width and the groups of CPUs."""

KINDS = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "half": "f2", "int": "i4", "uint": "u4", "float": "f4", "long": "i8",
    "ulong": "u8", "double": "f8", "float2": "c8", "double2": "c16",
}  # fmt: skip


@pytest.fixture(scope="module", params=[4, 8, 16, 32])
def cut(request: pytest.FixtureRequest, context: cm.Context) -> Iterator[cm.Context]:
    """A context whose groups are cut into sub-groups of a width."""
    if not context.device.facts.sized_subgroups:
        pytest.skip("the device has no sub-groups whose width a kernel names")
    traits = with_subgroups(context.device.facts.traits, request.param)
    narrow = cm.Context(context.device)
    narrow.facts = replace(context.facts, vocabulary=traits.vocabulary, exchange_width=traits.exchange_width)
    yield narrow
    narrow.wait()


@pytest.mark.parametrize("kind", KINDS)
def test_items_get_the_values_they_ask_for(kind: str, cut: cm.Context, rng: np.random.Generator) -> None:
    if kind == "half" and not cut.device.fp16:
        pytest.skip("no float16 here")
    width, x, at = cut.facts.exchange_width, values(rng, KINDS[kind], GROUP), rng.integers(0, 1000, GROUP).astype("u4")
    words, distances = ("shuffle_down", "shuffle_up"), [2**e for e in range(width.bit_length() - 1)]
    lines = [f"o{k}[{d * GROUP} + i] = cmr_{word}_{kind}(v, {d});" for k, word in enumerate(words) for d in distances]
    double, half = ("#pragma OPENCL EXTENSION cl_khr_fp" + bits + " : enable\n" for bits in ("64", "16"))
    source = f"""{double if "double" in kind else half if kind == "half" else ""}#define INLINE static inline
{"".join(helper(cut.facts.vocabulary, word, kind) for word in (*words, "shuffle_first"))}{helper(cut.facts.vocabulary, "ballot", "int")}
__kernel __attribute__((reqd_work_group_size({GROUP}, 1, 1))) {rendering_of("vendor/subgroups", "kernel_attribute", width)}
void cmr_tried(__global {kind} *x, __global uint *at, __global {kind} *o0, __global {kind} *o1, __global {kind} *o2, __global uint *o3) {{
    const int i = get_local_id(0);
    const {kind} v = x[i];
    {" ".join(lines)}
    o2[i] = cmr_shuffle_first_{kind}(v, at[i]);
    o3[i] = cmr_ballot_int(at[i] % 3 == 0);
}}"""
    kernel = build(cut.queue, source, ("-w",)).kernel("cmr_tried")
    outs = [*(np.zeros(GROUP * width, x.dtype) for _ in words), np.zeros_like(x), np.zeros_like(at)]
    arrays = [cm.array(array, cut) for array in (x, at, *outs)]
    buffers = tuple(array.buffer for array in arrays)
    JobGraph([KernelJob(kernel, 1, GROUP, buffers, buffers[:2], buffers[2:])]).submit(cut.queue, ())
    down, up, first, votes = (array.to_numpy() for array in arrays[2:])
    i = np.arange(GROUP)
    for d in distances:
        later, earlier = i[i % width + d < width], i[i % width >= d]
        assert_same(down[d * GROUP + later], x[later + d])
        assert_same(up[d * GROUP + earlier], x[earlier - d])
    assert_same(first, x[i // width * width + at % width])
    expected = [sum(1 << k for k in range(width) if at[begin + k] % 3 == 0) for begin in i // width * width]
    assert_same(votes, np.array(expected, "u4"))


@pytest.mark.parametrize(("name", "dtype"), COMBINATIONS)
def test_reductions_of_every_operator(name: str, dtype: str, cut: cm.Context, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = factors(rng, dtype, length) if name == "product" else values(rng, dtype, length)
        check_reduced(name, x, reduce_by_name(name, x, cut, "parallel"), fp64=cut.facts.fp64)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "c8", "c16"])
def test_sums_up_to_every_place(dtype: str, cut: cm.Context, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = values(rng, dtype, length)
        for exclusive in (False, True):
            result = cm.Scan("sum", exclusive)(x, context=cut, mode="parallel")
            if x.dtype.kind in "iu":
                totals = np.cumsum(x, dtype=result.dtype)
                assert_same(result, totals - x.astype(result.dtype) if exclusive else totals)
                continue
            precise = x.astype("c16" if x.dtype.kind == "c" else "f8")
            totals, magnitudes = np.cumsum(precise), np.cumsum(np.abs(precise))
            expected = np.concatenate([[0], totals[:-1]]) if exclusive else totals
            own = np.dtype(f"f{x.itemsize // 2}" if x.dtype.kind == "c" else dtype)
            assert_near(result, expected, 2 * scan_tolerance(own, np.abs(totals), magnitudes, length), length)


@pytest.mark.parametrize("name", ["minimum", "argmax", "all", "logsumexp", "affine"])
def test_scans_of_other_operators_keep_the_order(name: str, cut: cm.Context, rng: np.random.Generator) -> None:
    affine = cm.Operator(
        lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]},
        np.array((1, 0), dtype=[("a", "i8"), ("b", "i4")])[()],
        commutative=False,
    )
    for length in (1, 15, 17, 33, 257, 5003):
        how: dict[str, Any] = {"context": cut, "mode": "parallel"}
        x = rng.uniform(-20, 20, length)
        if name == "minimum":
            x[rng.integers(length)] = np.nan if length % 2 else -np.inf
            assert_same(cm.Scan(name)(x.astype("f4"), **how), np.minimum.accumulate(x.astype("f4")))
        elif name == "argmax":
            x = rng.integers(0, 50, length)
            best = np.maximum.accumulate(x)
            assert_same(cm.Scan(name)(x, **how), np.array([int(np.flatnonzero(x == v)[0]) for v in best]))
        elif name == "all":
            assert_same(cm.Scan(name)(x < 19, **how), np.logical_and.accumulate(x < 19))
        elif name == "logsumexp":
            assert_near(cm.Scan(name)(x, **how), np.logaddexp.accumulate(x), 3e-12, length)
        else:
            y = np.zeros(length, dtype=[("a", "i8"), ("b", "i4")])
            y["a"], y["b"] = rng.choice([-1, 1], length), rng.integers(-9, 9, length)
            signs = np.cumprod(y["a"])
            result = cm.Scan(affine)(y, **how)
            assert_same(result["a"], signs)
            assert_same(result["b"], (signs * np.cumsum(y["b"] * signs)).astype("i4"))  # signs are their own inverses


@pytest.mark.parametrize("shape", ["ones", "around chunks", "0 to 40", "half empty", "a giant among empties", "blocks"])
@pytest.mark.parametrize("name", ["sum", "argmin", "logsumexp", "product"])
def test_segments_streamed_by_teams(
    name: str, shape: str, cut: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_blocks = bool(rng.integers(2))
    monkeypatch.setattr(Teams, "default", lambda _: TeamBox(most=4096, join_block=32, blocked=in_blocks, window=1 + in_blocks))
    offsets = offsets_in_shape(shape, rng)
    x = factors(rng, "i4", offsets[-1]) if name == "product" else values(rng, "f4", offsets[-1])
    check_segments(name, x, offsets, cm.segmented_reduce(x, offsets, name, context=cut, mode="parallel", empty=0))


@pytest.mark.parametrize("by_marks", [False, True])
@pytest.mark.parametrize("dtype", ["i4", "f2", "u8"])
def test_runs_of_keys(
    dtype: str, by_marks: bool, cut: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_marks:  # as GPUs do it
        monkeypatch.setattr(front, "marks_box", lambda options: TeamBox(most=2 * TILE, least=TILE, join_block=8))
    for mean in (1.2, 7, 900):
        keys = np.cumsum(rng.random(20_011) < 1 / mean).astype("i8")
        keys = (keys % 7).astype(dtype)
        starts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])
        x = values(rng, "i4", keys.size)
        run_keys, sums = cm.reduce_by_key(keys, x, context=cut, mode="parallel")
        assert_same(run_keys, keys[starts])
        assert_same(sums, np.add.reduceat(x.astype("i8"), starts))
        lengths_keys, counts, begins = cm.run_lengths(keys, context=cut, mode="parallel")
        assert_same(lengths_keys, keys[starts])
        assert_same(counts, np.diff(np.append(starts, keys.size)))
        assert_same(begins, starts)


@pytest.mark.parametrize("rows", [1, 3, 70])
def test_pairs_of_few_rows_are_merged(rows: int, cut: cm.Context, rng: np.random.Generator) -> None:
    x, y, b = rng.normal(size=(rows, 3)), rng.normal(size=(20_011, 3)), rng.normal(size=(20_011, 1))
    squares = np.square(x[:, None] - y[None]).sum(2)
    terms = np.exp(-squares)
    rounding = 2.0**-53 * (len(y) + 20 * squares.max())  # a chain of all terms, and what their exponents are off by
    sums, log = terms.sum(1, keepdims=True), np.log(terms.sum(1, keepdims=True))
    for op, text, expected, tolerance in (
        ("Sum", "Exp(-SqDist(x, y)) * b", terms @ b, rounding * (terms @ np.abs(b))),
        ("ArgMin", "SqDist(x, y)", squares.argmin(1)[:, None], np.zeros_like(sums)),
        ("LogSumExp", "-SqDist(x, y)", log, rounding + 2.0**-50 * np.abs(log)),
    ):  # fmt: skip
        inputs = ["x=Vi(3)", "y=Vj(3)", "b=Vj(1)"][: 3 if "b" in text else 2]
        result = cm.Genred(text, inputs, op, axis=1)(*(x, y, b)[: len(inputs)], context=cut, mode="parallel")
        assert_near(result, expected, tolerance, op)


@pytest.mark.parametrize(("op", "dim"), [("ArgMin", 3), ("ArgKMin", 3), ("ArgKMin", 50), ("Sum", 3)])
def test_pairs_with_matrix_units(
    op: str, dim: int, cut: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their words are emulated; items share votes and bars."""
    boxes = units_everywhere(monkeypatch)
    x, y = (rng.normal(size=(count, dim)).astype("f4") for count in (67, 3001))
    squares = np.square(x.astype("f8")[:, None] - y).sum(2)
    text = "SqDist(x, y)" if op != "Sum" else "Exp(-SqDist(x, y))"
    options = {"opt_arg": 4} if op == "ArgKMin" else {}
    reduction = cm.Genred(text, [f"x=Vi({dim})", f"y=Vj({dim})"], op, axis=1, **options)
    result = reduction(x, y, context=cut, mode="parallel")
    assert boxes
    if op == "Sum":  # terms are off by 3e-6 of themselves at most, and a sum has chains of at most 200 additions
        np.testing.assert_allclose(result, np.exp(-squares).sum(1, keepdims=True), rtol=3e-6 + 200 * 2.0**-24)
        return
    best = np.sort(squares, 1)[:, : result.shape[1]]  # a column that is chosen is no further, by float32 distances
    assert_near(np.take_along_axis(squares, result.astype("i8"), 1), best, 2 * (dim + 3) * 2.0**-24 * best)


def test_pipelines_in_one_group_and_in_several(cut: cm.Context, rng: np.random.Generator) -> None:
    for length in (1, 31, 33, 900, PRIME):
        x = rng.integers(-99, 99, length)
        both = cm.Map(lambda v: v * v - 3) >> cm.Scan("sum") >> cm.Reduce("minimum")
        assert_same(both(x, context=cut, mode="parallel"), np.cumsum(x * x - 3).min())
        np.testing.assert_array_equal(cm.Unfold("sum")(3, length, context=cut, mode="parallel"), 3 * np.arange(1, length + 1))
