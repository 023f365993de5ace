"""Maps of several outputs, and of records: where each output goes, and how fields come in and out."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracles import PRIME, SIZES, assert_same, values

import clmapreduce as cm

pytestmark = pytest.mark.drawn

SPLIT = cm.Map(lambda x: (x > 0, abs(x), x * cm.index))


def test_several_outputs(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = rng.standard_normal(length).astype(np.float32)
        positive, magnitude, product = SPLIT(x, context=context, mode=mode)
        assert_same(positive, x > 0)
        assert_same(magnitude, np.abs(x))
        assert_same(product, x.astype(np.float64) * np.arange(length))
        device_array = SPLIT(cm.array(x, context), mode=mode)
        assert [type(h) for h in device_array] == [cm.DeviceArray] * 3
        assert_same(device_array[1].to_numpy(), np.abs(x))


def test_several_outputs_into_out(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal(1025).astype(np.float32)
    outs = np.ones(1025, bool), cm.array(np.zeros(1025, np.float32), context), np.zeros((1025, 2))[:, 1]
    results = SPLIT(x, context=context, mode=mode, out=outs)
    assert all(result is out for result, out in zip(results, outs, strict=True))
    assert_same(outs[0], x > 0)
    assert_same(outs[1].to_numpy(), np.abs(x))
    assert_same(np.ascontiguousarray(outs[2]), x.astype(np.float64) * np.arange(1025))
    with pytest.raises(cm.ShapeError, match="out holds 2"):
        SPLIT(x, context=context, out=outs[:2])
    with pytest.raises(cm.ShapeError, match="out holds 1"):
        SPLIT(x, context=context, out=outs[0])


def test_a_dict_is_one_structured_output(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    polar = cm.Map(lambda x, y: {"r": x * x + y * y, "left": x < 0, "n": cm.index.astype("i2")})
    for length in (1, 17, 1025, PRIME):
        x, y = rng.integers(-50, 50, (2, length)).astype(np.float64)
        result = polar(x, y, context=context, mode=mode)
        assert result.dtype.names == ("r", "left", "n")
        assert_same(result["r"], x * x + y * y)
        assert_same(result["left"], x < 0)
        assert_same(result["n"], np.arange(length).astype(np.int16))
        expected = np.zeros(length, [("r", "f8"), ("left", "?"), ("n", "i2")])
        assert polar(x, y, context=context, mode=mode, out=expected) is expected
        assert_same(expected, result)


FIELDS = {"packed": False, "aligned": True}


@pytest.mark.parametrize("align", FIELDS.values(), ids=FIELDS)
def test_records_come_in_by_field(align: bool, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    dtype = np.dtype([("flag", "?"), ("x", "f8"), ("n", "i2"), ("z", "c8"), ("b", "u1")], align=align)
    primitive = cm.Map(lambda r: {"b": r["b"], "x": cm.where(r["flag"], r["x"], -r["x"]) + r["n"], "z": r["z"] + r["z"]})
    for length in (1, 17, 257, PRIME):
        r = values(rng, dtype, length)
        for records in (r, cm.array(r, context)):
            result = np.asarray(primitive(records, context=context, mode=mode))
            assert_same(result["b"], r["b"])
            assert_same(result["x"], np.where(r["flag"], r["x"], -r["x"]) + r["n"])
            assert_same(result["z"], r["z"] + r["z"])


def test_a_view_of_some_fields_is_a_record_with_holes(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    r = values(rng, np.dtype([("a", "u1"), ("x", "f4"), ("n", "i8"), ("y", "f4")]), 65)[["y", "n"]]
    result = cm.Map(lambda r: (r["y"], r["n"]))(r, context=context, mode=mode)
    assert_same(result[0], np.ascontiguousarray(r["y"]))
    assert_same(result[1], np.ascontiguousarray(r["n"]))


def test_unusual_records(context: cm.Context, mode: str) -> None:
    """Record arrays, fields with titles, fields that overlap, one field at the end of a wide record."""
    total = cm.Map(lambda r: r["a"] + r["b"])
    rows = np.rec.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
    assert_same(total(rows, context=context, mode=mode), np.array([3.5, 7.5]))
    with_titles = np.ones(3, np.dtype([(("first", "a"), "i4"), ("b", "i4")]))
    assert_same(total(with_titles, context=context, mode=mode), np.full(3, 2, np.int32))
    records = np.zeros(3, np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 0]}))
    records["a"] = 70_000
    assert_same(total(records, context=context, mode=mode), records["a"] + records["b"])
    wide = np.zeros(17, np.dtype({"names": ["a", "b"], "formats": ["u1", "u1"], "offsets": [0, 63], "itemsize": 64}))
    wide["b"] = np.arange(17)
    assert_same(total(wide, context=context, mode=mode), np.arange(17, dtype=np.uint8))


def test_field_names_may_be_words_of_c_and_of_ours(context: cm.Context, mode: str) -> None:
    """Field names end up in names of C variables."""
    names = ["float", "in0", "x", "x_mask", "_", "idx", "v0", "n"]
    r = np.zeros(17, [(name, "?" if name.startswith("x") else "i4") for name in names])
    for k, name in enumerate(names):
        r[name] = k
    result = cm.Map(lambda r: {name: r[name] for name in names})(r, context=context, mode=mode)
    assert_same(result, r)


@pytest.mark.parametrize("name", ["my field", "größe", "2x", "a-b"])
def test_field_names_that_are_no_c_names_work_or_are_refused(name: str, context: cm.Context) -> None:
    r = np.ones(5, [(name, "i4"), ("ok", "f4")])
    try:
        result = cm.Map(lambda r: {name: r[name] + 1, "ok": r["ok"]})(r, context=context)
    except cm.DTypeError as error:
        assert name in str(error)
    else:
        assert (result[name] == 2).all()
