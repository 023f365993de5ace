"""Arguments of the wrong kind raise our errors, which show the argument and say what would work. Nothing is launched."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import clmapreduce as cm

X = np.arange(1, 9, dtype=np.float32)
POINTS = np.ones((4, 3), np.float32)
OFFSETS, KEYS = np.array([0, 3, 8]), np.array([1, 1, 1, 2, 2, 3, 3, 3])
MATRIX = (np.array([0, 2, 3]), np.array([0, 1, 2]), np.ones(3, np.float32))
LINE = cm.Map(lambda a: a * a) >> cm.Reduce("sum")
ALIASES = ["x = Vi(3)", "y = Vj(3)"]


def kernel() -> Any:
    return ((cm.Vi(POINTS) - cm.Vj(POINTS)) ** 2).sum(-1)


def queue() -> Any:
    return cl.CommandQueue(cl.Context([cm.devices()[0].cl_device]))


Call = Callable[[Any], Any]
MODES: dict[str, Call] = {
    "Map": lambda mode: cm.Map("a + 1")(X, mode=mode),
    "Reduce": lambda mode: cm.Reduce("sum")(X, mode=mode),
    "Scan": lambda mode: cm.Scan("sum")(X, mode=mode),
    "Unfold": lambda mode: cm.Unfold("product")(np.float32(2), 3, mode=mode),
    "Partials": lambda mode: cm.Partials("sum")(X, mode=mode),
    "Recurrence": lambda mode: cm.Recurrence()(0.5, X, mode=mode),
    "Unfold of a function": lambda mode: cm.Unfold(lambda a: a / 2)(1.0, 3, mode=mode),
    "Pipeline": lambda mode: LINE(X, mode=mode),
    "compile": lambda mode: LINE.compile([(8,)], "f4", mode=mode),
    "powers": lambda mode: cm.series.powers(np.float32(2), 3, mode=mode),
    "segmented_reduce": lambda mode: cm.segmented_reduce(X, OFFSETS, mode=mode),
    "reduce_by_key": lambda mode: cm.reduce_by_key(KEYS, X, mode=mode),
    "spmv": lambda mode: cm.spmv(MATRIX, X[:3], mode=mode),
    "LazyTensor": lambda mode: kernel().sum(1, mode=mode),
    "Genred": lambda mode: cm.Genred("SqDist(x, y)", ALIASES)(POINTS, POINTS, mode=mode),
}
WORDS: dict[str, Call] = {
    "accumulate": lambda word: cm.Reduce("sum")(X, accumulate=word),
    "accumulate of a pipeline": lambda word: LINE(X, accumulate=word),
    "accumulate of segments": lambda word: cm.segmented_reduce(X, OFFSETS, accumulate=word),
    "finish": lambda word: cm.Reduce("sum")(X, finish=word),
    "key": lambda word: cm.reduce_by_key(KEYS, X, key=word),
    "count": lambda word: cm.reduce_by_key(KEYS, X, count=word),
    "backend": lambda word: kernel().sum(1, backend=word),
    "dtype_acc": lambda word: kernel().sum(1, dtype_acc=word),
    "sum_scheme": lambda word: kernel().sum(1, sum_scheme=word),
    "reduction": lambda word: cm.Genred("SqDist(x, y)", ALIASES, word),
    "between": lambda word: cm.Ranges.radius(POINTS, None, 1.0, [[0, 4]], between=word),
}
NO_WORDS = [["auto"], {}, np.arange(3), np.zeros(2, [("a", "f4")]), None, 5, b"auto", "nonsense"]
SWITCHES: dict[str, Call] = {
    "batch": lambda flag: LINE(X, batch=flag),
    "starts": lambda flag: cm.segmented_reduce(X, OFFSETS, starts=flag),
    "validate": lambda flag: cm.segmented_reduce(X, OFFSETS, validate=flag),
    "commutative": lambda flag: cm.Operator(lambda a, b: a + b, 0, commutative=flag),
    "use_double_acc": lambda flag: kernel().sum(1, use_double_acc=flag),
    "call": lambda flag: kernel().sum(1, call=flag),
    "profile": lambda flag: cm.Context(profile=flag),
}
SIZES: dict[str, Call] = {
    "length of a Map": lambda n: cm.Map("index")(length=n),
    "length of a batch": lambda n: LINE(X, batch=True, length=n),
    "length of an Unfold": lambda n: cm.Unfold("index")(n),
    "length of a Recurrence": lambda n: cm.Recurrence()(0.5, 1.0, length=n),
    "length of iterates": lambda n: cm.Unfold(lambda a: a)(1.0, n),
    "n of binomials": lambda n: cm.series.binomials(n),
    "powers": lambda n: cm.series.powers(1.0, n),
    "terms": lambda n: cm.series.exp(1.0, n),
    "factorials": lambda n: cm.series.factorials(n),
    "cluster_ranges": lambda n: cm.cluster.cluster_ranges(KEYS, n),
}
DTYPES: dict[str, Call] = {
    "Unfold": lambda dtype: cm.Unfold("sum")(1, 3, dtype=dtype),
    "Unfold of a function": lambda dtype: cm.Unfold(lambda a: a)(1, 3, dtype=dtype),
    "Recurrence": lambda dtype: cm.Recurrence()(0.5, X, dtype=dtype),
    "Operator": lambda dtype: cm.Operator(lambda a, b: a + b, 0, dtype),
    "powers": lambda dtype: cm.series.powers(2.0, 3, dtype=dtype),
    "exp": lambda dtype: cm.series.exp(1.0, 3, dtype=dtype),
    "compile": lambda dtype: LINE.compile([(8,)], [dtype]),
    "view": lambda dtype: cm.array(X).view(dtype),
    "astype": lambda dtype: cm.Map(lambda a: a.astype(dtype))(X),
}
ARRAYS: dict[str, Call] = {
    "array": cm.array,
    "Reduce": cm.Reduce("sum"),
    "segmented_reduce": lambda x: cm.segmented_reduce(x, OFFSETS),
    "offsets": lambda x: cm.segmented_reduce(X, x),
    "prefix": lambda x: cm.Partials("sum")(X).prefix(x),
    "keep": lambda x: cm.Ranges.from_mask(x),
    "coordinates": lambda x: cm.cluster.grid_cluster(x, 1.0),
    "labels": lambda x: cm.cluster.cluster_ranges(x),
    "points": lambda x: cm.cluster.cluster_centroids(x, KEYS[:2]),
    "math": cm.math.exp,
}
AGAIN: list[Any] = []
AGAIN.append(AGAIN)


def name_of(value: Any) -> str:
    """A name for a test, the same in every process: no address in it."""
    text = str(value)
    return type(value).__name__ if " at 0x" in text else text


def cases(calls: dict[str, Call], values: list[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("call", "value"),
        [
            pytest.param(call, value, id=f"{name}-{number}")
            for name, call in calls.items()
            for number, value in enumerate(values)
        ],
    )


def refusal(error: type[Exception], call: Callable[[], Any], *words: str) -> str:
    """Asserts that a call raises an error of ours that says these words; returns its text."""
    with pytest.raises(error) as failure:
        call()
    assert isinstance(failure.value, cm.ClMapReduceError)
    for word in words:
        assert word in str(failure.value), str(failure.value)
    return str(failure.value)


@pytest.mark.parametrize("wish", [5, [5], {}, b"cpu", 1.5, queue], ids=name_of)
def test_devices(wish: Any) -> None:
    wish = wish() if callable(wish) else wish
    for call in (cm.select_device, cm.Context, cm.use):
        refusal(cm.DeviceError, lambda call=call: call(wish), "the device is", "pass a Device")


def test_a_list_names_no_one_device() -> None:
    refusal(cm.DeviceError, lambda: cm.select_device([cm.devices()[0]]), "the device is", "pass a Device")


def test_a_queue_is_no_context() -> None:
    other = queue()
    refusal(cm.DeviceError, lambda: cm.Reduce("sum")(X, context=other), "CommandQueue", "pass a cm.Context")
    refusal(cm.DeviceError, lambda: kernel().sum(1, context=other), "CommandQueue", "pass a cm.Context")
    refusal(cm.DeviceError, lambda: cm.tune(lambda: None, context=other), "CommandQueue", "pass a cm.Context")
    refusal(cm.DeviceError, lambda: cm.Context(cl_context=other), "CommandQueue", "pyopencl.Context")


@cases(MODES, NO_WORDS)
def test_modes(call: Call, value: Any) -> None:
    refusal(cm.ModeError, lambda: call(value), "mode=", "is unknown; use one of auto, sequential, parallel")


@cases(WORDS, NO_WORDS)
def test_words(call: Call, value: Any) -> None:
    refusal(cm.ClMapReduceError, lambda: call(value), "is unknown; use one of")


@cases(SWITCHES, [np.ones(2), [], "yes", 1, {}])
def test_switches(call: Call, value: Any) -> None:
    refusal(cm.ArgumentError, lambda: call(value), "use True or False")


@pytest.mark.parametrize("tiles", [np.arange(3), [1], "1", 2, True, np.zeros(2, [("a", "f4")])], ids=str)
def test_tiles(tiles: Any) -> None:
    for call in (cm.Reduce("sum"), cm.Scan("sum"), LINE):
        refusal(cm.ModeError, lambda call=call: call(X, mode="sequential", tiles=tiles), "tiles=1")


@cases(SIZES, [2**63, 10**400, -1, -(2**70), 1.5, "3", [3, 4, 5], True])
def test_sizes(call: Call, value: Any) -> None:
    refusal(cm.ClMapReduceError, lambda: call(value))


def test_many_more_labels_than_points() -> None:
    refusal(cm.ShapeError, lambda: cm.cluster.cluster_ranges(KEYS, 2**62), str(2**62))
    refusal(cm.ShapeError, lambda: cm.cluster.cluster_ranges(np.array([0, 2**62])), "label")


@cases(DTYPES, [5, "no dtype", "\ud800", [], object(), "M8[s]", np.ones(2), lambda: 0])
def test_dtypes(call: Call, value: Any) -> None:
    refusal(cm.DTypeError, lambda: call(value))


@cases(ARRAYS, [[[1, 2], [3]], AGAIN, ["a", "b"], object(), {}, np.array([None, {}], object)])
def test_what_is_no_array(call: Call, value: Any) -> None:
    refusal(cm.ClMapReduceError, lambda: call(value))


@pytest.mark.parametrize("shapes", [None, "3", 5, {}, [3], ["3"], [("3",)], [(2**63,)], [[[1]]], ["x" * 5000]], ids=str)
def test_shapes_to_compile(shapes: Any) -> None:
    refusal(cm.ShapeError, lambda: LINE.compile(shapes, "f4"), "shape")


@pytest.mark.parametrize("dtypes", [None, "no dtype", [None], ["f4", "f4"]], ids=str)
def test_dtypes_to_compile(dtypes: Any) -> None:
    refusal(cm.ClMapReduceError, lambda: LINE.compile([(8,)], dtypes), "dtype")


@pytest.mark.parametrize("wait_for", [5, "x", np.ones(3), iter(()), [[1]], object()], ids=name_of)
def test_events(wait_for: Any) -> None:
    refusal(cm.ArgumentError, lambda: cm.Reduce("sum")(X, wait_for=wait_for), "wait_for")


def test_unknown_keywords() -> None:
    refusal(cm.ArgumentError, lambda: LINE.explain(X, nonsense=1), "nonsense")
    refusal(cm.ArgumentError, lambda: kernel().sum(1, tiles=np.arange(3)), "tiles", "a reduction takes")
    refusal(cm.ArgumentError, lambda: cm.generic_sum("SqDist(x, y)", "a = Vi(1)", *ALIASES, axis=1), "axis", "dtype_acc")


@pytest.mark.parametrize(
    "call",
    [
        cm.Reduce("sum"), cm.Scan("sum"), cm.Partials("sum"), LINE, cm.fuse(lambda a: a + 1), cm.array, cm.sort,
        cm.Unfold("product"), lambda x, **more: cm.segmented_reduce(x, OFFSETS, **more), lambda x, **more: cm.array(x).sum(**more),
    ],
    ids=lambda call: getattr(call, "__qualname__", type(call).__name__),
)  # fmt: skip
def test_keywords_that_a_signature_lacks_are_python_s_errors(call: Call) -> None:
    """The page of errors says so, and that ArgumentError is one as well."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'") as failure:
        call(X, nonsense=1)  # type: ignore[call-arg]
    assert not isinstance(failure.value, cm.ClMapReduceError) and issubclass(cm.ArgumentError, TypeError)
    refusal(cm.FormulaError, lambda: cm.Map("a + b")(X, X, nonsense=1), "nonsense")
    refusal(cm.FormulaError, lambda: cm.Map(lambda a: a)(X, nonsense=1), "by place", "nonsense")


def test_progress_takes_two_numbers() -> None:
    refusal(cm.ModeError, lambda: cm.Reduce("sum")(X, progress=lambda: 0), "(done, total)")


# ------------------------------------------------------------------------------------------------------------- operators
def test_operators_on_device_arrays() -> None:
    there = cm.array(X)
    for call in (lambda: there @ X, lambda: X @ there, lambda: np.matmul(there, X), lambda: np.linalg.norm(there)):
        refusal(cm.ArgumentError, call, "DeviceArray", "to_numpy()")
    for call in (lambda: there + "x", lambda: {} * there, lambda: there < None, lambda: there * ["x"]):
        refusal(cm.ClMapReduceError, call)
    for key in (8, -9, (0, 0), 1.5, "x", [8], [0.5], np.ones(7, bool)):
        refusal(cm.PlaceError, lambda key=key: there[key])
    refusal(cm.ShapeError, lambda: float(there), "(8,)")
    refusal(cm.ArgumentError, lambda: len(cm.array(X[0])), "float()")
    refusal(cm.ArgumentError, lambda: pickle.dumps(there), "to_numpy()")


def test_other_classes_keep_their_operators() -> None:
    column = cm.array(np.ones((3,), np.float32))
    assert isinstance(column * cm.Vi(POINTS), cm.LazyTensor)
    assert isinstance(cm.Vi(POINTS) * column, cm.LazyTensor)
    np.testing.assert_array_equal(np.add(copy.copy(column), 1), 2)


def test_operators_on_plans_ranges_and_lazy_tensors() -> None:
    plan = cm.SpmvPlan(MATRIX)
    for call in (lambda: plan @ X[:3], lambda: X[:3] @ plan, lambda: plan @ cm.array(X[:3]), lambda: cm.array(X) @ plan):
        refusal(cm.ArgumentError, call)
    refusal(cm.ArgumentError, lambda: plan @ X[:3], "@ was used on", "plan.apply(x)")
    bands = cm.Ranges.band(4, 4, 1)
    refusal(cm.ArgumentError, lambda: bands | bands, "cm.Ranges.from_mask")
    refusal(cm.ArgumentError, lambda: X[:4] @ kernel(), "K.t() @ v")
    refusal(cm.ArgumentError, lambda: len(kernel()), "shape")
    refusal(cm.ModeError, lambda: 5 >> cm.Map("a"), "cm.Map")
    refusal(cm.ModeError, lambda: cm.Map("a") >> 5, "cm.Map")


# -------------------------------------------------------------------------------------------------------------- formulas
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("b * (c + / 2", "/"), ("a +", None), ("(a", "("), ("a # b", "#"), ("  b * $", "$"), ("a + b.c", "b"), ("é + a b", None),
        ("(a +\n  nope(b))", "n"),
    ],
)  # fmt: skip
def test_formulas_show_the_place(text: str, at: str | None) -> None:
    message = refusal(cm.FormulaError, lambda: cm.Map(text))
    line, caret = message.splitlines()[-2:]
    assert caret.strip() == "^"
    if at is not None:
        assert line[caret.index("^")] == at, message


@pytest.mark.parametrize(("text", "at"), [("fmax(a, b", "("), ("a + b)", ")"), ("a + b; }", ";"), ("a /* b", "/"), ("[a) + b", ")")])
def test_a_c_source_is_one_expression(text: str, at: str) -> None:
    message = refusal(cm.FormulaError, lambda: cm.c_source(text))
    line, caret = message.splitlines()[-2:]
    assert line[caret.index("^")] == at
    refusal(cm.FormulaError, lambda: cm.c_source(5), "fmax(a, b)")  # type: ignore[arg-type]


def test_a_c_source_that_no_compiler_takes(context: cm.Context) -> None:
    """The message shows lines of the kernel, not the name of a file that is gone."""
    op = cm.Operator(cm.c_source("a + nope(b)"), 0)
    message = refusal(cm.BuildError, lambda: cm.Reduce(op)(X, context=context), "nope", "cm.c_source")
    assert not re.search(r"/\S*\.cl|tempfile", message)
    assert len(message.splitlines()) < 100


@pytest.mark.parametrize(
    "function",
    [int, round, range, len, lambda a: a @ a, np.sqrt, lambda a: np.exp(a), lambda a: f"{a:.3f}", lambda a: cm.math.exp(a, a)],
)  # fmt: skip
def test_what_symbols_cannot_do(function: Any) -> None:
    refusal(cm.FormulaError, lambda: cm.Map(lambda a: function(a))(X))


def test_functions_on_numbers() -> None:
    refusal(cm.DTypeError, lambda: cm.math.exp("x"), "cm.math.exp('x')")
    refusal(cm.ShapeError, lambda: cm.math.add(np.ones(2), np.ones(3)), "broadcast")
    refusal(cm.FormulaError, lambda: cm.math.add(1), "2 argument(s), 1 given")
    refusal(cm.DTypeError, lambda: cm.math.power(2, 2**63))
