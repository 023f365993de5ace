"""Tables beside Dask arrays: every task has the whole table."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest

import clmapreduce as cm

LENGTH = 1003


def chunked(values: np.ndarray) -> Any:
    return da.from_array(values, chunks=(90,) if values.ndim == 1 else (20, 1))


def test_lines_read_tables(here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    table, x = rng.standard_normal((6, 9)).astype("f4"), rng.standard_normal(LENGTH).astype("f4")
    i, j = rng.integers(-2, 8, LENGTH), rng.integers(0, 9, LENGTH)
    product = cm.Map(lambda t, i, j, x: t[i, j] * x)
    exact = table[np.clip(i, 0, 5), j] * x
    result = product(cm.Table(table), chunked(i), chunked(j), chunked(x), mode=mode)
    np.testing.assert_array_equal(result.compute(), exact)
    total = (product >> cm.Reduce("sum"))(cm.Table(table), chunked(i), chunked(j), chunked(x), mode=mode).compute()
    assert abs(total - exact.astype("f8").sum()) <= LENGTH * 2**-24 * np.abs(exact).sum()
    ranked = cm.fuse(lambda t, x: t[cm.Scan("sum")(cm.where(x > 0, 1, 0))] + x)
    result = ranked(cm.Table(table.reshape(-1)), chunked(x), mode=mode)
    np.testing.assert_array_equal(result.compute(), table.reshape(-1)[np.clip(np.cumsum(x > 0), 0, 53)] + x)


def test_pairs_read_tables(here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    table = rng.standard_normal((6, 9)).astype("f4")
    i, j = rng.integers(0, 6, (50, 1)), rng.integers(0, 9, (70, 1))
    places = cm.Vi(chunked(i.astype("f4"))), cm.Vj(chunked(j.astype("f4")))
    result = cm.Table(table)[places].sum(axis=1, mode=mode).compute()
    np.testing.assert_allclose(result, table.astype("f8")[i, j[:, 0]].sum(1, keepdims=True), rtol=0, atol=1e-4)
    with pytest.raises(cm.ModeError, match="not offered for Dask arrays"):
        cm.Table(table, "check")[places].sum(axis=1, mode=mode)


def test_refused_tables(here: cm.Context, rng: np.random.Generator) -> None:
    i, table = chunked(rng.integers(0, 5, LENGTH)), rng.standard_normal(5)
    read = cm.Map(lambda t, i: t[i])
    with pytest.raises(cm.ModeError, match="not offered for Dask arrays"):
        read(cm.Table(table, "check"), i)
    with pytest.raises(cm.DeviceError, match="to_numpy"):
        read(cm.Table(cm.array(table.astype("f4"), here)), i)
