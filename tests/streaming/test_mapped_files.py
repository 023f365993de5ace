"""Mapped files that became shorter, as arguments and as targets of every kind of call: an error, with a limit and
without one. To read or write beyond their end would end the process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be truncated")

ROWS, COLUMNS = 3_000, 20
COUNT = ROWS * COLUMNS
OFFSETS = np.linspace(0, COUNT, ROWS + 1).astype("i8")
SQUARES = cm.Genred("SqDist(x, y)", [f"x = Vi({COLUMNS})", f"y = Vj({COLUMNS})"], axis=1)
POINTS = np.ones((3, COLUMNS), "f4")
ONES = np.ones(COUNT, "f4")


def grid(x: Any) -> Any:
    return x.reshape(ROWS, COLUMNS)


CALLS: dict[str, tuple[Callable[..., Any], str]] = {
    "reduce": (lambda x, **k: cm.Reduce("sum")(x, **k), "argument 1"),
    "the second": (lambda x, **k: cm.Map("a + b")(ONES, x, **k), "argument 2"),
    "scan": (lambda x, **k: cm.Scan("sum")(x, **k), "argument 1"),
    "partials": (lambda x, **k: cm.Partials("sum")(x, **k), "argument 1"),
    "pipeline": (lambda x, **k: (cm.Map("exp(a)") >> cm.Reduce("sum"))(x, **k), "argument 1"),
    "batch": (lambda x, **k: (cm.Map("a + 1") >> cm.Reduce("sum"))(grid(x), batch=True, **k), "argument 1"),
    "along an axis": (lambda x, **k: cm.Reduce("sum")(grid(x), axis=0, **k), "the array"),
    "where": (lambda x, **k: cm.Reduce("sum")(ONES, where=x.view("?")[-COUNT:], **k), "where"),
    "backwards": (lambda x, **k: cm.Reduce("sum")(x[::-3], **k), "argument 1"),
    "table": (lambda x, **k: cm.Map(lambda a, t: t[cm.index] + a)(ONES, cm.Table(x), **k), "argument 2"),
    "segments": (lambda x, **k: cm.segmented_reduce(x, OFFSETS, **k), "values"),
    "offsets": (lambda x, **k: cm.segmented_reduce(ONES, x.view("i8"), **k), "offsets"),
    "keys": (lambda x, **k: cm.reduce_by_key(x.view("i4"), ONES, **k), "keys"),
    "a matrix": (lambda x, **k: cm.spmv((OFFSETS, np.zeros(COUNT, "i4"), x), POINTS[0], **k), "data"),
    "rows of pairs": (lambda x, **k: SQUARES(grid(x), POINTS, **k), "x = Vi"),
    "columns of pairs": (lambda x, **k: SQUARES(POINTS, grid(x), **k), "y = Vj"),
    "sort": (lambda x, **k: cm.sort(x, context=k["context"]), "the array"),
}  # fmt: skip


@pytest.fixture(params=["a limit", "no limit"])
def at(request: pytest.FixtureRequest, context: cm.Context, small: cm.Context) -> cm.Context:
    return small if request.param == "a limit" else context


def truncated(path: Path, mode: Any = "r") -> Any:
    ONES.tofile(path)
    x = np.memmap(path, "f4", mode)
    os.truncate(path, 4 * COUNT // 2)
    return x


@pytest.mark.parametrize("name", CALLS)
def test_arguments(name: str, at: cm.Context, mode: str, tmp_path: Path) -> None:
    call, what = CALLS[name]
    with pytest.raises(cm.ShapeError, match=rf"{what}.* is mapped from a file that has {2 * COUNT} bytes now.*truncated"):
        call(truncated(tmp_path / "x"), context=at, mode=mode)


def test_calls_that_are_repeated(context: cm.Context, mode: str, tmp_path: Path) -> None:
    """Short arrays of the same shape take what was settled for them before."""
    call, path = cm.Map("a + 1") >> cm.Reduce("sum"), tmp_path / "x"
    ONES.tofile(path)
    x = np.asarray(np.memmap(path, "f4", "r"))[COUNT // 2 :][:10_000]
    for _ in range(4):
        assert call(x, context=context, mode=mode) == 20_000
    os.truncate(path, 2 * COUNT)
    with pytest.raises(cm.ShapeError, match="argument 1 is mapped from a file"):
        call(x, context=context, mode=mode)


def test_copies_to_a_device(at: cm.Context, tmp_path: Path) -> None:
    with pytest.raises(cm.ShapeError, match="the file was truncated"):
        cm.array(truncated(tmp_path / "x"), at)
    with pytest.raises(cm.ShapeError, match="the file was truncated"):
        cm.array(np.asarray(truncated(tmp_path / "y"))[COUNT // 2 :], at)


def test_targets(at: cm.Context, mode: str, tmp_path: Path) -> None:
    for call in (
        lambda out: cm.Map("a + 1")(ONES, out=out, context=at, mode=mode),
        lambda out: cm.segmented_reduce(ONES, np.arange(COUNT + 1), out=out, context=at, mode=mode),
        lambda out: SQUARES(np.ones((COUNT, COLUMNS), "f4"), POINTS, out=out[:, None], context=at, mode=mode),
    ):
        with pytest.raises(cm.ShapeError, match="out is mapped from a file"):
            call(truncated(tmp_path / "y", "r+"))


def test_what_is_there_may_be_read(at: cm.Context, mode: str, tmp_path: Path) -> None:
    """Parts of an array, of any stride, that lie before the end of its file."""
    x = truncated(tmp_path / "x")
    for part in (x[: COUNT // 2], x[COUNT // 2 - 1 :: -2], x[7 : COUNT // 2 : 5], x[COUNT:]):
        assert cm.Reduce("sum")(part, context=at, mode=mode) == part.size
