"""Tables read at computed places, in lines: the elements that NumPy's subscripts give, the nearest ones outside."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

pytestmark = pytest.mark.drawn

LENGTHS = [0, 1, 2, 31, 33, 70_003]
FIELDS = np.dtype([("a", "f4"), ("m", "i4", (2,))], align=True)


def nearest(table: np.ndarray, *places: Any) -> np.ndarray:
    """The oracle: places as Python's integers, which no dtype cuts."""
    inside = [
        np.array([min(max(int(p), 0), n - 1) for p in np.ravel(at)], np.int64).reshape(np.shape(at))
        for at, n in zip(places, table.shape, strict=True)
    ]
    elements: np.ndarray = table[tuple(inside)]
    return elements


def running(x: Any) -> Any:
    return cm.Scan("sum")(cm.where(x > 0, 1, 0))


@cm.fuse
def by_rank(table: Any, x: Any) -> tuple[Any, Any]:
    """A table at a scan's and at a reduction's results."""
    return table[running(x)] + x, table[cm.Reduce("sum")(cm.where(x > 0, 1, 0))]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("code", ["f4", "f8", "i2", "u1", "?", "c8", "i8"])
@pytest.mark.parametrize("place", ["i4", "i8", "u8", "u1", "i2", "u4"])
def test_a_map_reads_two_axes(
    context: cm.Context, mode: str, rng: np.random.Generator, length: int, code: str, place: str
) -> None:
    table = (rng.standard_normal((7, 5)) * 20).astype(code)
    low = -3 if place.startswith("i") else 0
    i, j = (rng.integers(low, 9, length).astype(place) for _ in "ij")
    if length > 2:
        i[1], j[2] = np.iinfo(place).max, np.iinfo(place).min
    result = cm.Map(lambda t, i, j: t[i, j])(cm.Table(table), i, j, mode=mode, context=context)
    assert result.dtype == table.dtype and isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, nearest(table, i, j))


def test_places_may_be_computed_and_tables_lie_on_the_device(
    context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    table, x = rng.standard_normal(11).astype("f4"), rng.standard_normal(4001).astype("f4")
    there = cm.array(np.concatenate([table[:3] - 100, table]), context)[3:]
    half = cm.Map(lambda t, x: cm.take(t, cm.math.rint(x * 2).astype("int32") + 5) * x)
    result = half(cm.Table(there), x, mode=mode)
    assert isinstance(result, cm.DeviceArray)
    expected = nearest(table, np.rint(x * 2).astype(int) + 5) * x
    np.testing.assert_array_equal(result.to_numpy(), expected)
    by_index = cm.Map(lambda t: t[cm.index % 11])(cm.Table(table), length=40, mode=mode, context=context)
    np.testing.assert_array_equal(by_index, np.resize(table, 40))


@pytest.mark.parametrize("length", [1, 2, 33, 70_003])
def test_fused_functions_read_where_steps_lead(
    context: cm.Context, mode: str, rng: np.random.Generator, length: int
) -> None:
    table, x = rng.standard_normal(9).astype("f4"), rng.standard_normal(length).astype("f4")
    vector, single = by_rank(cm.Table(table), x, mode=mode, context=context)
    ranks = np.cumsum(x > 0)
    np.testing.assert_array_equal(vector, nearest(table, ranks) + x)
    assert single == nearest(table, ranks[-1])
    total = (cm.Map(lambda t, x: t[cm.index]) >> cm.Reduce("maximum"))(cm.Table(table), x, mode=mode, context=context)
    assert total == nearest(table, np.arange(length)).max()


def test_batches_share_the_table(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    table, x = rng.standard_normal(9).astype("f4"), rng.standard_normal((5, 33)).astype("f4")
    vector, singles = by_rank(cm.Table(table), x, batch=True, mode=mode, context=context)
    ranks = np.cumsum(x > 0, axis=1)
    np.testing.assert_array_equal(vector, nearest(table, ranks) + x)
    np.testing.assert_array_equal(singles, nearest(table, ranks[:, -1]))


def test_records_and_extended_numbers(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    table, place = np.zeros(4, FIELDS), rng.integers(0, 4, 37)
    table["a"], table["m"] = rng.random(4), rng.integers(0, 99, (4, 2))
    result = cm.Map(lambda t, p: cm.take(t, p))(cm.Table(table), place, mode=mode, context=context)
    np.testing.assert_array_equal(result["a"], table["a"][place])
    np.testing.assert_array_equal(result["m"], table["m"][place])
    fields = cm.Map(lambda t, p: t["a"][p] * 2)(cm.Table(table), place, mode=mode, context=context)
    np.testing.assert_array_equal(fields, table["a"][place] * 2)
    wide = cm.extended(np.array([1.0, 2.0, 3.0], "f4"), cm.df)
    records = cm.Map(lambda t, p: cm.take(t, p))(cm.Table(wide), np.array([2, 0]), mode=mode, context=context)
    np.testing.assert_array_equal(records, wide[[2, 0]])


def test_checked_places_raise_and_write_nothing(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    table, place = rng.standard_normal((6, 9)).astype("f4"), rng.integers(0, 6, (7, 143))
    column = rng.integers(0, 9, (7, 143)).astype("i4")
    read, checked = cm.Map(lambda t, i, j: t[i, j]), cm.Table(table, mode="check")
    result = read(checked, place, column, mode=mode, context=context)
    np.testing.assert_array_equal(result, table[place, column])
    for wrong in (-1, 6, 2**40):
        bad, out = place.copy(), np.full(place.shape, 77, "f4")
        bad[3, 77] = wrong
        with pytest.raises(cm.PlaceError, match="outside of a checked table"):
            read(checked, bad, column, out=out, mode=mode, context=context)
        assert (out == 77).all()
        with pytest.raises(IndexError):
            (read >> cm.Reduce("sum"))(checked, bad.reshape(-1), column.reshape(-1), mode=mode, context=context)
        read(cm.Table(table), bad, column, mode=mode, context=context)


def test_checked_places_behind_steps(context: cm.Context, mode: str) -> None:
    walk = cm.fuse(lambda t, x: t[cm.Scan("sum")(x)])
    table, ones = cm.Table(np.arange(6.0, dtype="f4"), "check"), np.ones(5, "i8")
    np.testing.assert_array_equal(walk(table, ones, mode=mode, context=context), np.arange(1, 6))
    with pytest.raises(cm.PlaceError):
        walk(table, ones + 1, mode=mode, context=context)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("on_device", [False, True])
def test_the_gradient_adds_up_at_places(
    context: cm.Context, mode: str, rng: np.random.Generator, length: int, on_device: bool
) -> None:
    table = rng.standard_normal((6, 9))
    i, j, gradient = rng.integers(-2, 8, length), rng.integers(0, 9, length), rng.standard_normal(length)
    give: Callable[[Any], Any] = (lambda x: cm.array(x, context)) if on_device else (lambda x: x)
    elements = cm.take(give(table), (give(i), give(j)), context=context)
    result = cm.take_gradient(give(table), (give(i), give(j)), give(gradient), context=context)
    assert isinstance(result, cm.DeviceArray) == isinstance(elements, cm.DeviceArray) == on_device
    expected = np.zeros((6, 9))
    np.add.at(expected, (np.clip(i, 0, 5), j), gradient)
    result, elements = (x.to_numpy() if isinstance(x, cm.DeviceArray) else x for x in (result, elements))
    np.testing.assert_allclose(result, expected, rtol=0, atol=length * 2**-52 * 8)
    np.testing.assert_array_equal(elements, table[np.clip(i, 0, 5), j])


def test_the_gradient_is_the_difference_quotient(context: cm.Context, rng: np.random.Generator) -> None:
    table, place, weight = rng.standard_normal(5), rng.integers(0, 5, 40), rng.standard_normal(40)

    def value(table: np.ndarray) -> float:
        return float((weight * cm.take(table, place, context=context) ** 2).sum())

    elements = cm.take(table, place, context=context)
    gradient = cm.take_gradient(table, place, 2 * weight * elements, context=context)
    step = 1e-6
    for k, unit in enumerate(np.eye(5)):
        quotient = (value(table + step * unit) - value(table - step * unit)) / (2 * step)
        assert abs(quotient - gradient[k]) < 1e-7


@pytest.mark.parametrize(
    ("function", "error", "match"),
    [
        (lambda t, i: t, cm.FormulaError, "uses a table as a number"),
        (lambda t, i: t * 2 + i, cm.FormulaError, "uses a table as a number"),
        (lambda t, i: cm.math.sin(t), cm.FormulaError, "uses a table as a number"),
        (lambda t, i: t[i, i], cm.ShapeError, "1 axes .* 2 are given"),
        (lambda t, i: t[i * 0.5], cm.DTypeError, "places in tables are integers"),
        (lambda t, i: t[i == 1], cm.DTypeError, "places in tables are integers"),
        (lambda t, i: t[:], cm.ShapeError, "a whole number for every axis"),
        (lambda t, i: t[t], cm.FormulaError, "a table is no place"),
        (lambda t, i: len(t), cm.FormulaError, "length of a table"),
        (lambda t, i: cm.take(i, i), cm.FormulaError, r"pass cm.Table\(array\)"),
    ],
)
def test_wrong_formulas(function: Any, error: Any, match: str, context: cm.Context) -> None:
    with pytest.raises(error, match=match):
        cm.Map(function)(cm.Table(np.arange(3.0)), np.arange(3), context=context)


@pytest.mark.parametrize("front", [cm.Map, cm.fuse, lambda f: cm.Map(f) >> cm.Reduce("sum")])
@pytest.mark.parametrize("own", ["clamp", "check"])
@pytest.mark.parametrize("asked", ["clamp", "check"])
def test_a_formula_takes_the_mode_of_its_table(own: str, asked: str, front: Any, context: cm.Context) -> None:
    table, inside, outside = np.arange(3.0), np.array([2, 0]), np.array([-1, 3])
    call = front(lambda t, i: cm.take(t, i, mode=asked))
    if own != asked:
        with pytest.raises(cm.ModeError, match=f"passed with mode='{own}'; pass cm.Table.array, mode='{asked}'"):
            call(cm.Table(table, own), inside, context=context)
        return
    assert np.sum(call(cm.Table(table, own), inside, context=context)) == 2
    if own == "clamp":
        assert np.sum(call(cm.Table(table, own), outside, context=context)) == 2
        return
    with pytest.raises(cm.PlaceError):
        call(cm.Table(table, own), outside, context=context)


def test_a_mode_of_take_replaces_that_of_the_table(context: cm.Context) -> None:
    table, places = np.arange(3.0), np.array([-1, 3])
    np.testing.assert_array_equal(cm.take(cm.Table(table, "check"), places, mode="clamp", context=context), [0, 2])
    for checked, mode in ((cm.Table(table), "check"), (cm.Table(table, "check"), None), (table, "check")):
        with pytest.raises(cm.PlaceError):
            cm.take(checked, places, mode=mode, context=context)
    np.testing.assert_array_equal(cm.take(table, places, context=context), [0, 2])
    for wrong in ("wrap", "raise", 1):
        with pytest.raises(cm.ModeError, match="use one of clamp, check"):
            cm.take(table, places, mode=wrong, context=context)  # type: ignore[arg-type]
        with pytest.raises(cm.ModeError, match="use one of clamp, check"):
            cm.Map(lambda t, i, mode=wrong: cm.take(t, i, mode=mode))(cm.Table(table), places, context=context)


def test_wrong_tables(context: cm.Context) -> None:
    with pytest.raises(cm.ShapeError, match="an axis and an element"):
        cm.Table(np.zeros((3, 0)))
    with pytest.raises(cm.ShapeError, match="an axis and an element"):
        cm.Table(1.5)
    with pytest.raises(cm.ModeError, match="clamp, check"):
        cm.Table(np.zeros(3), mode="wrap")
    with pytest.raises(cm.ShapeError, match="is a table already"):
        cm.Table(cm.Table(np.zeros(3)))
    with pytest.raises(cm.FormulaError, match=r"cm\.take"):
        cm.Table(np.zeros(3))[1]
    with pytest.raises(cm.FormulaError, match="uses a table as a number"):
        cm.Reduce("sum")(cm.Table(np.zeros(3)), context=context)
    with pytest.raises(cm.ShapeError, match="gradient has shape"):
        cm.take_gradient(np.zeros(3), np.zeros(4, int), np.zeros(5), context=context)
    with pytest.raises(cm.DTypeError, match="use float32 or float64"):
        cm.take_gradient(np.zeros(3), np.zeros(4, int), np.zeros(4, int), context=context)
    with pytest.raises(cm.PlaceError):
        cm.take(np.zeros(3), np.array([3]), mode="check", context=context)


def test_tables_pickle_and_say_what_they_are() -> None:
    table = cm.Table(np.arange(6.0).reshape(2, 3), mode="check")
    again = pickle.loads(pickle.dumps(table))
    assert repr(again) == repr(table) == "Table(float64, shape=(2, 3), mode=check)"
    np.testing.assert_array_equal(again.values, table.values)


def test_tables_are_there_whole_where_lines_are_streamed(context: cm.Context, rng: np.random.Generator) -> None:
    table, length = rng.standard_normal(54).astype("f4"), 300_007
    place, x = rng.integers(0, 54, length).astype("i4"), rng.standard_normal(length).astype("f4")
    function = cm.Map(lambda t, i, x: t[i] * x)
    for small in (cm.Context(context.device, memory_limit=1 << 20), cm.Context([context.device] * 2)):
        for mode in ("clamp", "check"):
            result = function(cm.Table(table, mode), place, x, context=small)
            np.testing.assert_array_equal(result, table[place] * x)
    streamed = cm.Context(context.device, memory_limit=1 << 20)
    assert "streamed" in function.explain(cm.Table(table), place, x, context=streamed)
    place[length - 7] = 54
    with pytest.raises(cm.PlaceError):
        function(cm.Table(table, "check"), place, x, context=streamed)
