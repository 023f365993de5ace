"""Arrays that Dask reads from files, chunk by chunk: zarr, Parquet, mapped files; and chunks that come short."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import clmapreduce as cm

LENGTH = 10_007
CHUNKS = da.core.normalize_chunks(999, (LENGTH,))
SQUARES = cm.Map("a * a") >> cm.Reduce("sum")


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-1000, 1000, LENGTH)


def test_zarr(here: cm.Context, mode: str, tmp_path: Path, x: np.ndarray) -> None:
    pytest.importorskip("zarr")
    da.from_array(x, chunks=1_500).to_zarr(str(tmp_path / "x"))
    stored = da.from_zarr(str(tmp_path / "x"))
    assert len(stored.chunks[0]) == 7
    assert SQUARES(stored, mode=mode).compute() == (x * x).sum()
    cm.Scan("sum")(stored, mode=mode).to_zarr(str(tmp_path / "y"))
    np.testing.assert_array_equal(da.from_zarr(str(tmp_path / "y")).compute(), np.cumsum(x))


def test_parquet(here: cm.Context, mode: str, tmp_path: Path, x: np.ndarray) -> None:
    """Dask joins small partitions when it reads one column of several: their lengths are asked of it."""
    pytest.importorskip("pyarrow")
    pandas, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    table = frames.from_pandas(pandas.DataFrame({"key": np.sort(x), "x": x}), npartitions=5)
    table.to_parquet(tmp_path / "t")
    stored = frames.read_parquet(tmp_path / "t")
    column = stored["x"].to_dask_array().compute_chunk_sizes()
    assert SQUARES(column, mode=mode).compute() == (x * x).sum()
    keys = stored["key"].to_dask_array().compute_chunk_sizes()
    starts, sums = cm.reduce_by_key(keys, column, mode=mode)
    expected, begins = np.unique(np.sort(x), return_index=True)
    np.testing.assert_array_equal(starts.compute(), expected)
    np.testing.assert_array_equal(sums.compute(), np.add.reduceat(x, begins))
    with pytest.raises(cm.ShapeError, match=r"lengths are not known; call x\.compute_chunk_sizes"):
        SQUARES(stored["x"].to_dask_array(), mode=mode)
    with pytest.raises(cm.ArgumentError, match=r"argument 1 is a Series of dask; .*column\.to_dask_array\(\)"):
        SQUARES(stored["x"], mode=mode)


def pointwise(path: Path) -> Callable[..., np.ndarray]:
    """Reads a chunk of a mapped file by itself, on the worker."""

    def block(block_info: dict | None = None) -> np.ndarray:
        first, end = block_info[None]["array-location"][0]  # type: ignore[index]
        return np.asarray(np.memmap(path, np.int64, "r")[first:end])

    return block


def test_mapped_files(here: cm.Context, mode: str, tmp_path: Path, x: np.ndarray) -> None:
    x.tofile(tmp_path / "x")
    mapped = da.from_array(np.memmap(tmp_path / "x", x.dtype, "r"), chunks=999)
    assert SQUARES(mapped, mode=mode).compute() == (x * x).sum()
    lazy = da.map_blocks(pointwise(tmp_path / "x"), chunks=CHUNKS, dtype=x.dtype)
    assert SQUARES(lazy, mode=mode).compute() == (x * x).sum()


@pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be truncated")
def test_a_file_that_is_truncated(here: cm.Context, mode: str, tmp_path: Path, x: np.ndarray) -> None:
    """While chunks are read: of the one that was mapped before, and of those that are mapped later."""
    path, read = tmp_path / "x", pointwise(tmp_path / "x")

    def truncating(block_info: dict | None = None) -> np.ndarray:
        block = read(block_info)
        os.truncate(path, 4000)
        return block

    for truncates, words in ((truncating, "the file was truncated"), (read, r"a block has shape \(\d+,\) where")):
        lazy = da.map_blocks(truncates, chunks=CHUNKS, dtype=x.dtype, meta=x[:0])
        x.tofile(path)
        if truncates is read:
            os.truncate(path, 8 * LENGTH - 800)
        with pytest.raises(cm.ShapeError, match=words):
            SQUARES(lazy, mode=mode).compute(scheduler="sync")


def short(length: int) -> da.Array:
    """Chunks of ten numbers, of which the third comes with seven."""
    parts = [np.arange(10 if k != 2 else 7, dtype="f4") + 10 * k for k in range(length // 10)]
    return da.concatenate([da.from_delayed(dask.delayed(part), (10,), "f4") for part in parts])


def squares(x: da.Array) -> Any:
    return ((cm.Vi(x[:, None]) - cm.Vj(np.ones((4, 1), "f4"))) ** 2).sum()


CALLS: dict[str, Callable[[da.Array], Any]] = {
    "map": cm.Map("a + 1"),
    "reduce": cm.Reduce("sum"),
    "argmax": cm.Reduce("argmax"),
    "scan": cm.Scan("sum"),
    "partials": lambda x: cm.Partials("sum")(x).prefix(),
    "pipeline": cm.fuse(lambda a: a / a.sum()),
    "batch": lambda x: (cm.Map("a * a") >> cm.Reduce("sum"))(x[:, None], batch=True),
    "segments": lambda x: cm.segmented_reduce(x, [0, 15, 55, 100]),
    "keys": lambda x: cm.reduce_by_key(x, x)[1],
    "matrix": lambda x: cm.spmv((np.arange(101), da.arange(100, chunks=10), x), np.ones(100, "f4")),
    "rows of pairs": lambda x: squares(x).sum(axis=1),
    "columns of pairs": lambda x: squares(x).sum(axis=0),
    "nearest columns": lambda x: squares(x).argKmin(2, axis=0),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_short_reads(name: str, here: cm.Context) -> None:
    """No result of a part of the numbers is taken for that of all of them."""
    with pytest.raises(cm.ShapeError, match=r"a block has shape \(7,.* says \(10,.*nothing of the result counts"):
        CALLS[name](short(100)).compute()
