"""Wrong offsets, sources and values: an error naming the first wrong position, before the reduction is launched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.random_segments import RANDOM

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.segmented import check

LONG = np.arange(10_001)
"""Offsets of 10,000 segments of one: too many to be read back for a check."""


@pytest.fixture(autouse=True)
def no_reductions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No reduction over segments may give anything in these tests: the launches saw a closed gate, or found the
    error themselves.
    """
    queue = type(cm.Context().queue)
    launch, settle = queue.launch, check.Check.settle
    launches: list[str] = []
    refusals: list[str] = []

    def launch_and_note(self: Any, kernel: Any, *arguments: Any, **more: Any) -> Any:
        launches.append(kernel.name)
        return launch(self, kernel, *arguments, **more)

    def settle_and_note(self: check.Check, wrong: bool | None = None) -> None:
        try:
            settle(self, wrong)
        except cm.ShapeError as error:
            refusals.append(str(error))
            raise

    monkeypatch.setattr(queue, "launch", launch_and_note)
    monkeypatch.setattr(check.Check, "settle", settle_and_note)
    yield
    reductions = [name for name in launches if re.fullmatch("cmr_segmented_(team|walk|lanes)", name)]
    assert len(reductions) <= len(refusals)


def with_entry(at: int, value: int) -> np.ndarray:
    copy = LONG.copy()
    copy[at] = value
    return copy


OFFSETS: list[tuple[Any, dict[str, Any], str]] = [
    (with_entry(0, 1), {}, r"offsets\[0\] is 1; the first segment begins at 0"),
    (with_entry(0, -1), {}, r"offsets\[0\] is -1"),
    (with_entry(7000, 3), {}, r"offsets\[7000\] is 3, less than offsets\[6999\] = 6999"),
    (with_entry(7000, 9000), {}, r"offsets\[7001\] is 7001, less than offsets\[7000\] = 9000"),
    (LONG[:-1], {}, r"offsets\[9999\] is 9999, but there are 10000 elements; offsets must end with 10000 \(or pass starts=True"),
    (np.append(LONG, [20_000]), {}, r"offsets\[10001\] is 20000, but there are 10000 elements; offsets must end with 10000$"),
    (with_entry(7000, 20_000), {}, r"offsets\[7000\] is 20000, but there are 10000 elements"),
    (np.where(LONG > 6000, LONG + 3000, LONG), {}, r"offsets\[7001\] is 10001, but there are 10000 elements"),
    (np.append(LONG, [20_000]), {"starts": True}, r"offsets\[10001\] is 20000, .*start at 10000 at most"),
    (with_entry(7000, 3), {"starts": True}, r"offsets\[7000\] is 3, less than"),
    (with_entry(0, 1), {"starts": True}, r"offsets\[0\] is 1"),
    (LONG, {"sources": with_entry(20, 9_999)[:-1] * 0 - (LONG[:-1] == 20)}, r"sources\[20\] is -1: segment 20 has 1 elements, and there are 10000 to read"),
    (with_entry(7000, 20_000), {"starts": True}, r"offsets\[7000\] is 20000, .*start at 10000 at most"),
    (with_entry(7000, 20_000), {"sources": 0 * LONG[:-1]}, r"offsets\[7001\] is 7001, less than offsets\[7000\] = 20000"),
    (LONG, {"sources": np.where(LONG == 9000, 10_000, 0)[:-1]}, r"sources\[9000\] is 10000: segment 9000 has 1 elements"),
]  # fmt: skip


@pytest.mark.drawn(whole=["on_device"])
@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize(("offsets", "more", "message"), OFFSETS, ids=[message[:40] for *_, message in OFFSETS])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_the_first_wrong_position_is_named(
    offsets: Any, more: dict[str, Any], message: str, dtype: str, on_device: bool, context: cm.Context, mode: str
) -> None:
    array_of = (lambda v: cm.array(v.astype(dtype), context)) if on_device else (lambda v: v.astype(dtype))
    arguments = {name: array_of(v) if isinstance(v, np.ndarray) else v for name, v in more.items()}
    out = np.full(len(offsets) - ("starts" not in more), 7.0)
    with pytest.raises(cm.ShapeError, match=message):
        cm.segmented_reduce(
            np.zeros(10_000), array_of(offsets), context=context, mode=mode, **arguments, **({} if on_device else {"out": out})
        )
    with pytest.raises(cm.ShapeError, match=message):
        cm.SegmentPlan(array_of(offsets), 10_000, context=context, mode=mode, **arguments)
    assert (out == 7).all()


X = np.zeros(5, "f4")
CALLS: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ((X, [0, 2]), {}, cm.ShapeError, r"offsets\[1\] is 2, but there are 5 elements"),
    ((X, []), {}, cm.ShapeError, "offsets is empty; S segments have S"),
    ((X, 5), {}, cm.ShapeError, r"offsets has shape \(\)"),
    ((X, [[0, 5]]), {}, cm.ShapeError, r"offsets has shape \(1, 2\)"),
    ((X, [0.0, 5.0]), {}, cm.DTypeError, "offsets has dtype float64"),
    ((X, [False, True]), {}, cm.DTypeError, "offsets has dtype bool"),
    ((X, [0, 5]), {"sources": [0, 1]}, cm.ShapeError, "sources has length 2, but offsets has 2 for 1 segments"),
    ((X, [0, 5]), {"sources": [0.5]}, cm.DTypeError, "sources has dtype float64"),
    ((X, [0]), {"sources": [0], "starts": True}, cm.ShapeError, "with sources, offsets must hold"),
    ((np.float32(3), [0]), {}, cm.ShapeError, r"values has shape \(\)"),
    (((X, X), [0, 5]), {}, cm.FormulaError, "a tuple of 2 arrays; say by map="),
    (((X, X[:4]), [0, 5]), {"map": "a * b"}, cm.ShapeError, r"shapes \(5,\), \(4,\); their lengths must agree"),
    (((np.zeros((5, 2)), np.zeros((5, 3))), [0, 5]), {"map": "a * b"}, cm.ShapeError, "trailing axes must be equal"),
    (((X, X), [0, 5]), {"map": lambda a: a}, cm.FormulaError, "2 argument"),
    ((X, [0, 5]), {"map": 3}, cm.FormulaError, "map takes a function or an expression string, not 3"),
    ((X, [0, 5]), {"map": lambda a: (a, a)}, cm.ShapeError, "one value per element, 2 are given"),
    ((X, [0, 5]), {"map": lambda a: cm.guard(a > 0, a)}, cm.FormulaError, "guard"),
    (((), [0, 5]), {"map": lambda: 1}, cm.ShapeError, "empty tuple"),
    ((X, [0, 5], "total"), {}, cm.ModeError, "operator 'total' is unknown"),
    ((X, [0, 5], "argmin"), {"init": 3}, cm.DTypeError, "argmin folds no init"),
    ((X.astype("c8"), [0, 5], "maximum"), {}, cm.DTypeError, "complex"),
    ((X, [0, 5]), {"init": 1j}, cm.DTypeError, "init"),
    ((X, [0, 5]), {"accumulate": "exact"}, cm.ModeError, "accumulate='exact' is unknown"),
    ((X, [0, 5]), {"mode": "fast"}, cm.ModeError, "mode='fast'"),
    ((X, [0, 5]), {"out": np.zeros(2, "f4")}, cm.ShapeError, r"out has shape \(2,\), the result has \(1,\)"),
    ((X, [0, 5]), {"out": np.zeros(1, "i4")}, cm.DTypeError, "out has dtype int32"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "more", "error", "message"), CALLS, ids=[f"{message[:30]}" for *_, message in CALLS])
def test_wrong_calls(
    arguments: tuple[Any, ...], more: dict[str, Any], error: type[Exception], message: str, context: cm.Context
) -> None:
    with pytest.raises(error, match=message):
        cm.segmented_reduce(*arguments, context=context, **more)


def test_arrays_of_two_contexts(context: cm.Context) -> None:
    with pytest.raises(cm.DeviceError):
        cm.segmented_reduce(cm.array(X, context), cm.array(np.array([0, 5]), cm.Context(context.device)))


@pytest.mark.parametrize("wrong", [2**63 - 1, -(2**63), 2**31])
def test_sources_whose_ends_fit_no_number(wrong: int, context: cm.Context, mode: str) -> None:
    x, offsets = cm.array(np.zeros(10_000, "f4"), context), cm.array(LONG, context)
    sources = cm.array(np.where(LONG == 9000, wrong, 0)[:-1], context)
    with pytest.raises(cm.ShapeError, match=rf"sources\[9000\] is {wrong}"):
        cm.segmented_reduce(x, offsets, sources=sources, mode=mode)


LIMITS = [-(2**63), -(2**31), -1, 0, 1, 2, 3, 4, 5, 6, 7, 2**31 - 1, 2**31, 2**63 - 1]


@RANDOM
@example(ends=[1, 2, 3, 4, 5], at=0, wrong=0, source=2**63 - 1, dtype="i8", starts=False)
@given(
    ends=st.lists(st.integers(0, 6), min_size=5, max_size=5), at=st.integers(0, 6), wrong=st.sampled_from(LIMITS),
    source=st.none() | st.sampled_from(LIMITS), dtype=st.sampled_from(["i4", "i8"]), starts=st.booleans(),
)  # fmt: skip
def test_devices_and_the_host_agree_on_wrong_offsets(
    context: cm.Context, mode: str, ends: list[int], at: int, wrong: int, source: int | None, dtype: str, starts: bool
) -> None:
    """Both against the definition, in Python's integers. source: of the third segment; the others begin at 0."""
    numbers, sources = [0, *sorted(ends), 6], None if source is None else [0, 0, source, 0, 0, 0]
    numbers[at] = wrong
    if any(abs(2 * v + 1) >> 8 * np.dtype(dtype).itemsize for v in (*numbers, *(sources or ()))):
        dtype = "i8"
    starts = starts and sources is None
    length, count = (max(0, numbers[-1]) if sources else 6), 6
    is_right = (
        numbers[0] == 0
        and all(a <= b for a, b in pairwise(numbers))
        and (numbers[-1] <= 6 if starts else numbers[-1] == length)
    )
    if sources is not None:
        is_right = is_right and all(
            s >= 0 and s + b - a <= count for s, a, b in zip(sources, numbers[:-1], numbers[1:], strict=True)
        )
    host_arrays = [None if v is None else np.array(v, dtype) for v in (numbers, sources)]
    device_arrays = [None if v is None else cm.array(v, context) for v in host_arrays]
    assert bool(check._wrong_on_device(*device_arrays, length, count, starts, Options(mode, context))) != is_right
    try:
        check.check_on_host(*host_arrays, length, count, starts, "offsets")
    except cm.ShapeError:
        assert not is_right
    else:
        assert is_right


def test_numbers_beyond_what_offsets_hold(context: cm.Context) -> None:
    beyond = np.array([0, 2**63 + 5, 5], "u8")
    for offsets in (beyond, cm.array(beyond, context)):
        with pytest.raises(cm.ShapeError, match=rf"offsets\[1\] is {2**63 + 5}; int64 ends at {2**63 - 1}"):
            cm.segmented_reduce(X, offsets, context=context)


@pytest.mark.parametrize("sources", [None, np.arange(6)], ids=["plain", "sources"])
def test_devices_look_at_many_numbers_of_the_host(
    sources: Any, context: cm.Context, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they share its memory; the errors are the same."""
    calls: list[Any] = []

    def note(*arguments: Any) -> Any:
        calls.append(arguments)
        return on_device(*arguments)

    on_device = check._wrong_on_device
    monkeypatch.setattr(check, "MANY", 4)
    monkeypatch.setattr(check, "_wrong_on_device", note)
    offsets = np.arange(7, dtype="i4")
    check.settled(check.check_offsets(offsets, sources, 6, 6, False, "offsets", Options(mode, context)))
    third = "[3] is 9" if sources is None else "[4] is 4, less"
    for at, wrong, message in ((0, 1, "[0] is 1"), (3, 9, third), (6, 5, "[6] is 5")):
        wrong_offsets = offsets.copy()
        wrong_offsets[at] = wrong
        with pytest.raises(cm.ShapeError, match=re.escape(f"offsets{message}")):
            check.settled(check.check_offsets(wrong_offsets, sources, 6, 6, False, "offsets", Options(mode, context)))
    assert len(calls) == 4 * context.facts.lends_memory
