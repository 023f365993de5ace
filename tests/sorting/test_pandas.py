"""reduce_by_key and scan_by_key of pandas' columns beside pandas' groupby."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.drawn


def table(rng: np.random.Generator, length: int) -> Any:
    return pandas.DataFrame(
        {
            "city": rng.choice(["Bern", "Genf", "Chur"], length), "year": rng.integers(2000, 2004, length),
            "day": pandas.to_datetime(rng.integers(0, 5, length), unit="D"), "rain": rng.integers(0, 99, length).astype("f8"),
            "sun": rng.integers(0, 9, length).astype("f8"),
        },
        index=rng.permutation(length) + 100,
    )  # fmt: skip


@pytest.mark.parametrize("by", ["city", "year", "day"])
@pytest.mark.parametrize("name", ["sum", "maximum", "mean"])
def test_groups_are_pandas(by: str, name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    frame = table(rng, 1003)
    expected = getattr(frame.groupby(by)["rain"], {"maximum": "max"}.get(name, name))()
    keys, result = cm.reduce_by_key(frame[by], frame["rain"], name, sort=True, context=context, mode=mode)
    pandas.testing.assert_series_equal(result, expected, check_index_type=False)
    assert list(keys) == list(expected.index) and keys.name == by
    both = cm.reduce_by_key(frame[by], frame[["rain", "sun"]], name, sort=True, context=context, mode=mode)[1]
    wide = getattr(frame.groupby(by)[["rain", "sun"]], {"maximum": "max"}.get(name, name))()
    pandas.testing.assert_frame_equal(both, wide, check_index_type=False)


KEYS = {
    "categories": pandas.Categorical(["low", "high", None, "low", "high"], ["low", "mid", "high"], ordered=True),
    "texts": ["b", None, "a", "b", None],
    "whole numbers": pandas.array([2, None, 1, 2, None], dtype="Int64"),
    "dates with a zone": pandas.to_datetime(["2026-05-02", None, "2026-05-01", "2026-05-02", None], utc=True),
    "months": pandas.PeriodIndex(["2026-02", None, "2026-01", "2026-02", None], freq="M"),
    "objects": np.array([(1, 2), (0, 3), (0, 2), (1, 2), (0, 3)], dtype="i8,i8").astype(object),
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_pandas_own_dtypes(kind: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """The index has their dtype and order; a missing key is the last."""
    at = rng.permutation(np.tile(np.arange(5), 40))
    keys, values = pandas.Series(KEYS[kind], name="key").iloc[at].reset_index(drop=True), pandas.Series(at * 1.0)
    expected = values.groupby(keys, dropna=False, observed=True).sum()
    index, result = cm.reduce_by_key(keys, values, sort=True, context=context, mode=mode)
    pandas.testing.assert_series_equal(result, expected)
    pandas.testing.assert_index_equal(index, expected.index)
    ordered = keys.sort_values(kind="stable")
    prefixes = cm.scan_by_key(ordered, values[ordered.index], context=context, mode=mode)
    pandas.testing.assert_series_equal(prefixes, values[ordered.index].groupby(ordered, dropna=False, observed=True).cumsum())


def test_several_columns_are_mapped(context: cm.Context, rng: np.random.Generator) -> None:
    frame = table(rng, 500)
    result = cm.reduce_by_key(frame["city"], (frame["rain"], frame["sun"]), map=lambda r, s: r * s, sort=True, context=context)[1]
    expected = (frame["rain"] * frame["sun"]).groupby(frame["city"]).sum()
    pandas.testing.assert_series_equal(result, expected, check_names=False, check_index_type=False)


def test_scans_keep_the_index(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    frame = table(rng, 300).sort_values("city", kind="stable")
    result = cm.scan_by_key(frame["city"], frame["rain"], context=context, mode=mode)
    pandas.testing.assert_series_equal(result, frame.groupby("city")["rain"].cumsum())


def test_wrong_input(context: cm.Context, rng: np.random.Generator) -> None:
    frame = table(rng, 10)
    with pytest.raises(cm.ShapeError, match="another index"):
        cm.reduce_by_key(frame["city"], frame["rain"].sort_index(), sort=True, context=context)
    with pytest.raises(cm.ModeError, match="stay on the host"):
        cm.reduce_by_key(frame["year"], frame["rain"], count="device", context=context)
