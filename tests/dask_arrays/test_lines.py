"""Maps, reductions, scans and pipelines of Dask arrays give what NumPy's float64 gives, whatever the chunks."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.graph_manipulation import clone

import clmapreduce as cm

pytestmark = pytest.mark.drawn

LENGTH = 1003
CHUNKS = (1003, 90, (1, 500, 502))
UNIT = 2.0**-24
NUMPYS = {
    "sum": np.sum, "minimum": np.min, "maximum": np.max, "any": np.any, "argmin": np.argmin, "argmax": np.argmax,
}  # fmt: skip


def near(result: Any, exact: Any, magnitude: Any) -> None:
    """A float32 result is off by no more than rounding LENGTH terms of this magnitude, the sum of absolute values."""
    result = result.compute()
    assert result.shape == np.shape(exact)
    assert np.all(np.abs(result.astype(np.float64) - exact) <= LENGTH * UNIT * np.abs(magnitude))


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(LENGTH).astype(np.float32)


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
class TestChunks:
    def test_map(self, chunks: Any, x: np.ndarray, here: cm.Context, mode: str) -> None:
        result = cm.Map("a * 2 + b + c")(da.from_array(x, chunks=chunks), da.from_array(x, chunks=113), 0.5, mode=mode)
        assert result.dtype == np.float32 and result.shape == x.shape
        np.testing.assert_array_equal(result.compute(), x * np.float32(2) + x + np.float32(0.5))

    def test_index(self, chunks: Any, x: np.ndarray, here: cm.Context, mode: str) -> None:
        result = cm.Map(lambda a: cm.index * 3 + (a > 0))(da.from_array(x, chunks=chunks), mode=mode)
        np.testing.assert_array_equal(result.compute(), np.arange(LENGTH) * 3 + (x > 0))

    @pytest.mark.parametrize("name", ["sum", "minimum", "maximum", "any", "argmin", "argmax", "logsumexp"])
    def test_reduce(self, name: str, chunks: Any, x: np.ndarray, here: cm.Context, mode: str) -> None:
        result = cm.Reduce(name)(da.from_array(x, chunks=chunks), mode=mode)
        wide = x.astype(np.float64)
        exact = np.log(np.exp(wide).sum()) if name == "logsumexp" else NUMPYS[name](wide)
        if name in ("sum", "logsumexp"):
            near(result, exact, np.abs(wide).sum())
        else:
            assert result.compute() == exact
        assert result.dtype == cm.Reduce(name)(x, mode=mode).dtype

    @pytest.mark.parametrize("exclusive", [False, True])
    def test_scan(self, exclusive: bool, chunks: Any, x: np.ndarray, here: cm.Context, mode: str) -> None:
        result = cm.Scan("sum", exclusive)(da.from_array(x, chunks=chunks), mode=mode)
        exact = np.cumsum(x.astype(np.float64))
        exact = np.concatenate([[0.0], exact[:-1]]) if exclusive else exact
        near(result, exact, np.cumsum(np.abs(x)) + 1)

    def test_scan_of_places(self, chunks: Any, x: np.ndarray, here: cm.Context, mode: str) -> None:
        result = cm.Scan("argmin")(da.from_array(x, chunks=chunks), mode=mode).compute()
        np.testing.assert_array_equal(x[result], np.minimum.accumulate(x))
        assert np.all(result <= np.arange(LENGTH))

    def test_what_does_not_commute(self, chunks: Any, here: cm.Context, mode: str, rng: np.random.Generator) -> None:
        """Affine maps: their composition is exact in small integers modulo 2^64."""
        pairs = np.zeros(LENGTH, [("a", np.int64), ("b", np.int64)])
        pairs["a"], pairs["b"] = rng.integers(1, 100, LENGTH) * 2 + 1, rng.integers(0, 100, LENGTH)
        compose = cm.Operator(
            lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}, (1, 0), commutative=False
        )
        chunked = da.from_array(pairs, chunks=chunks)
        with np.errstate(over="ignore"):
            expected, acc = [], (np.int64(1), np.int64(0))
            for a, b in pairs:
                acc = (acc[0] * a, acc[1] * a + b)
                expected.append(acc)
        scanned = cm.Scan(compose)(chunked, mode=mode).compute()
        assert [tuple(one) for one in scanned] == expected
        assert tuple(cm.Reduce(compose)(chunked, mode=mode).compute()) == expected[-1]

    def test_passes(self, chunks: Any, x: np.ndarray, here: cm.Context, mode: str) -> None:
        """A reduce of a scan, a scan of that, and numbers of the line beside vectors."""

        @cm.fuse
        def walks(x: Any, c: Any) -> Any:
            s = cm.Scan("maximum")(x * c)
            low = cm.Reduce("minimum")(s)
            rising = cm.Scan("sum")(cm.where(x > 0, 1, 0))
            return s - low, cm.Reduce("sum")(rising), low * 2, cm.Reduce("argmax")(s - x)

        results = [result.compute() for result in walks(da.from_array(x, chunks=chunks), 2, mode=mode)]
        s, rising = np.maximum.accumulate(x * np.float32(2)), np.cumsum(x > 0)
        expected = [s - s.min(), rising.sum(), s.min() * 2, (s - x).argmax()]
        for result, one in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, one)

    def test_softmax(self, chunks: Any, x: np.ndarray, here: cm.Context, mode: str) -> None:
        pipeline = cm.Reduce("maximum") >> cm.Map(lambda top, x: cm.math.exp(x - top))
        norm = pipeline >> cm.Reduce("sum") >> cm.Map(lambda total, e: e / total)
        wide = np.exp(x.astype(np.float64) - x.max())
        near(norm(da.from_array(x, chunks=chunks), mode=mode), wide / wide.sum(), wide / wide.sum())

    def test_partials(self, chunks: Any, x: np.ndarray, here: cm.Context, mode: str) -> None:
        partials = cm.Partials("sum")(da.from_array(x, chunks=chunks), mode=mode)
        exact = np.concatenate([[0.0], np.cumsum(x.astype(np.float64))])
        places = np.array([[0, 1], [500, LENGTH]])
        near(partials.prefix(places), exact[places], np.abs(x).sum())
        near(partials.prefix(), exact, np.abs(x).sum())
        assert len(partials) == LENGTH


@pytest.mark.parametrize("chunks", [(7, 20), (40, 9), (3, -1), (-1, -1)], ids=str)
def test_several_axes(chunks: Any, here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    matrix, row = rng.standard_normal((40, 50)).astype(np.float32), rng.standard_normal(50).astype(np.float32)
    column = rng.standard_normal((40, 1)).astype(np.float32)
    chunked = da.from_array(matrix, chunks=chunks)
    result = cm.Map("a * b - c")(chunked, da.from_array(row, chunks=11), column, mode=mode)
    np.testing.assert_allclose(result.compute(), matrix * row - column, rtol=0, atol=64 * UNIT)
    assert cm.Reduce("argmax")(chunked, mode=mode).compute() == matrix.argmax()
    index = cm.Map(lambda a: cm.index + 0 * (a > 0))(chunked, mode=mode).compute()
    np.testing.assert_array_equal(index, np.arange(2000).reshape(40, 50))


def test_batches(here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    matrix = rng.integers(-99, 99, (40, 50))
    chunked = da.from_array(matrix, chunks=(7, -1))
    pipeline = cm.Map("a * b") >> cm.Reduce("sum")
    scale = da.from_array(np.arange(40)[:, None], chunks=9)
    result = pipeline(chunked, scale, batch=True, mode=mode)
    assert result.shape == (40,)
    np.testing.assert_array_equal(result.compute(), (matrix * np.arange(40)[:, None]).sum(1))
    scanned = (cm.Map("a + 1") >> cm.Scan("sum"))(chunked, batch=True, mode=mode)
    np.testing.assert_array_equal(scanned.compute(), np.cumsum(matrix + 1, axis=1))


def test_empty_chunks_and_arrays(here: cm.Context, mode: str) -> None:
    x = np.arange(10.0, dtype=np.float32)
    chunked = da.concatenate([da.zeros(0, dtype=np.float32), da.from_array(x, chunks=4), da.zeros(0, dtype=np.float32)])
    assert cm.Reduce("argmax")(chunked, mode=mode).compute() == 9
    np.testing.assert_array_equal(cm.Scan("sum")(chunked, mode=mode).compute(), np.cumsum(x))
    nothing = da.zeros(0, dtype=np.float32)
    assert cm.Reduce("sum")(nothing, mode=mode).compute() == 0
    assert cm.Map("a + 1")(nothing, mode=mode).compute().shape == (0,)


def test_records_and_several_results(here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(-99, 99, 100)
    chunked = da.from_array(x, chunks=30)
    records = cm.Map(lambda a: {"p": a, "q": a * 2})(chunked, mode=mode).compute()
    np.testing.assert_array_equal(records["q"], 2 * x)
    first, second = cm.Map(lambda a: (a + 1, a * 0.5))(chunked, mode=mode)
    np.testing.assert_array_equal(first.compute(), x + 1)
    np.testing.assert_array_equal(second.compute(), x * 0.5)


def test_the_same_chunks_give_the_same_bits(here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """With any number of threads, in whatever order they come."""
    x = rng.standard_normal(20_011).astype(np.float32)
    call = cm.Map("exp(a)") >> cm.Reduce("sum")
    lazy = call(da.from_array(x, chunks=1_000), mode=mode)
    first = lazy.compute(scheduler="sync")
    assert {lazy.compute(num_workers=workers).tobytes() for workers in (1, 2, 4)} == {first.tobytes()}
    assert lazy.name == call(da.from_array(x, chunks=1_000), mode=mode).name


def test_inputs_stay_lazy(here: cm.Context) -> None:
    def fails(block: Any) -> Any:
        raise RuntimeError("this block was computed")

    x = da.ones(100, chunks=10).map_blocks(fails, dtype=np.float64, meta=np.empty(0))
    lazy = cm.Reduce("sum")(cm.Map("a + 1")(x))
    with pytest.raises(RuntimeError, match="this block"):
        lazy.compute()


def test_other_byte_orders_and_weak_numbers(here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal(100).astype(">f4")
    result = cm.Map("a * 2.5 + 1")(da.from_array(x, chunks=30), mode=mode)
    assert result.dtype == np.dtype(np.float32)
    exact = x.astype("f8") * 2.5 + 1
    roundings = 2.0**-24 * (np.abs(x.astype("f8") * 2.5) + np.abs(exact))  # one, where a device fuses the two
    assert np.all(np.abs(result.compute() - exact) <= 1.000001 * roundings)
    total = (cm.Map("a * b") >> cm.Reduce("sum"))(da.arange(100, chunks=30, dtype=np.int8), 2, mode=mode)
    assert total.dtype == np.int64 and total.compute() == (np.arange(100, dtype=np.int8) * 2).sum(dtype=np.int64)


def test_explain_and_source_are_of_one_chunk(here: cm.Context, mode: str) -> None:
    x = da.ones(1_000_000, chunks=1_000)
    for text in (cm.Reduce("sum").explain(x, mode=mode), (cm.Map("a + 1") >> cm.Reduce("sum")).explain(x, mode=mode)):
        assert "8,000 bytes" in text
    assert "cmr_map" in cm.Map("a + 1").source(x, mode=mode)


def test_arguments_by_name(here: cm.Context, mode: str) -> None:
    result = cm.Map("a - b")(b=da.ones(10, chunks=3), a=np.arange(10.0), mode=mode)
    np.testing.assert_array_equal(result.compute(), np.arange(10.0) - 1)


def test_names_in_the_task_stream(here: cm.Context) -> None:
    from dask.utils import key_split

    x = da.ones(100, chunks=10)
    names = {key_split(key) for key in (cm.Map("a + 1") >> cm.Reduce("sum"))(x).__dask_graph__()}
    assert {"Map-Reduce-pass-i", "Map-Reduce-merge-i", "Map-Reduce-number-i"} <= names


JOINED: dict[str, tuple[Any, tuple[int, ...], set[str]]] = {
    "a map": (cm.Map("a + 1"), (100,), {"Map-chunk"}),
    "a sum": (cm.Reduce("sum"), (100,), {"Reduce-pass-i", "Reduce-merge-i"}),
    "a batch": (lambda x: (cm.Map("a * a") >> cm.Reduce("sum"))(x, batch=True), (100, 3), {"Map-Reduce-chunk"}),
}


@pytest.mark.parametrize("name", JOINED)
def test_dask_joins_a_chunk_with_what_comes_before(name: str, here: cm.Context) -> None:
    """One task a chunk, from the array's own to ours."""
    from dask.utils import key_split

    call, shape, expected = JOINED[name]
    (lazy,) = dask.optimize(call(da.ones(shape, chunks=(10, 3)[: len(shape)]) * 2))
    names = [key_split(key) for key in lazy.__dask_graph__()]
    assert not {"ones", "ones_like", "mul"} & set(names)
    assert expected <= set(names) and max(map(names.count, expected)) == 10
    np.testing.assert_array_equal(lazy.compute(), call(np.full(shape, 2.0)))


def test_a_part_of_a_result_takes_the_tasks_of_that_part(here: cm.Context) -> None:
    (part,) = dask.optimize((cm.Map("a + 1")(da.arange(100, chunks=10)))[25:28])
    assert len(part.__dask_graph__()) <= 3
    np.testing.assert_array_equal(part, [26, 27, 28])


@pytest.mark.parametrize("call", [cm.Map("a + 1"), cm.Reduce("sum"), cm.Scan("sum"), cm.fuse(lambda a: a / a.sum())])
def test_layers_that_are_copied_or_not_joined(call: Any, here: cm.Context) -> None:
    x = np.arange(1.0, 101.0)
    lazy, expected = call(da.from_array(x, chunks=30)), call(x)
    with dask.config.set({"optimization.fuse.active": False}):
        np.testing.assert_array_equal(lazy.compute(), expected)
    np.testing.assert_array_equal(clone(lazy).compute(), lazy.compute())
    np.testing.assert_array_equal(lazy.persist().compute(), lazy.compute())
