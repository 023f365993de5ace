"""What users make is pickled by value, lambdas with cloudpickle's help. Unpickled it gives the same bits, on the thread's
context.
"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.child_processes import with_library

import clmapreduce as cm
from clmapreduce.vector.node import _KINDS

ROOT = Path(__file__).resolve().parents[1]
NAMED = {
    "a map": cm.Map("a * 2 + 1"),
    "two maps": cm.Map("a * 2") >> cm.Map("b + 1"),
    "a reduction": cm.Reduce("logsumexp"),
    "a scan": cm.Scan("sum", exclusive=True),
    "a pipeline": cm.Map("a * 2") >> cm.Scan("maximum") >> cm.Reduce("argmax"),
}


def copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def copied_with_lambdas(value: Any) -> Any:
    return pickle.loads(pytest.importorskip("cloudpickle").dumps(value))


@cm.fuse
def softmax(x: Any) -> Any:
    e = cm.math.exp(x - cm.Reduce("maximum")(x))
    return e / cm.Reduce("sum")(e)


@pytest.mark.parametrize("primitive", NAMED.values(), ids=NAMED)
def test_primitives(primitive: Any, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal(1025).astype(np.float32)
    again = copied(primitive)
    assert repr(again) == repr(primitive)
    np.testing.assert_array_equal(again(x, context=context, mode=mode), primitive(x, context=context, mode=mode))


def test_primitives_without_one_vector(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal(100).astype(np.float32)
    unfold, partials = copied(cm.Unfold("sum")), copied(cm.Partials("sum"))
    np.testing.assert_array_equal(unfold(3, 10, context=context, mode=mode), 3 * np.arange(1, 11))
    result = partials(x, context=context, mode=mode)
    np.testing.assert_array_equal(result.prefix(50), cm.Partials("sum")(x, context=context, mode=mode).prefix(50))


def test_lambdas_decorated_functions_and_operators(
    context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    x = rng.standard_normal(1025).astype(np.float32)
    operator = cm.Operator(lambda a, b: a + b + a * b, 0, commutative=False, check=False)
    for primitive in (cm.Map(lambda a: a * 3), cm.Map(lambda a: a * 3) >> cm.Reduce("sum"), cm.Reduce(operator), softmax):
        for again in (copied(primitive), copied_with_lambdas(primitive), copied(copied_with_lambdas(primitive))):
            assert repr(again) == repr(primitive)
            result = again(x, context=context, mode=mode)
            np.testing.assert_array_equal(result, primitive(x, context=context, mode=mode))


def test_functions_that_are_iterated(context: cm.Context, mode: str) -> None:
    unfold = cm.Unfold(lambda a: 3.7 * a * (1 - a))
    np.testing.assert_array_equal(
        copied(unfold)(0.3, 20, context=context, mode=mode), unfold(0.3, 20, context=context, mode=mode)
    )


def test_lambdas_without_cloudpickle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(cm.ArgumentError, match="pip install cloudpickle"):
        pickle.dumps(cm.Map(lambda a: a * 3))
    assert repr(copied(cm.Map(np.square))) == repr(cm.Map(np.square))


def test_copies_share_their_functions() -> None:
    double = cm.Map(lambda a: a * 2)
    assert copy.copy(double).function is double.function and copy.deepcopy(double).function is double.function
    operator = cm.Operator(lambda a, b: a + b, 0)
    assert copy.deepcopy(operator).combine is operator.combine


def test_a_compiled_pipeline_is_compiled_again(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((7, 65)).astype(np.float32)
    pipeline = cm.Map("a * c") >> cm.Reduce("sum")
    with context:
        compiled = pipeline.compile([(7, 65), None], np.float32, batch=True, mode=mode)
        again = copied(compiled)
        assert again.context is context and repr(again) == repr(compiled)
        np.testing.assert_array_equal(again(x, 2), compiled(x, 2))


def test_formulas_are_one_object_again() -> None:
    x, y = cm.Vi(0, 3), cm.Vj(1, 3)
    formula = (((x - y) ** 2).sum().sqrt() * cm.Pm(2, 1) + [1.0, -0.0, float("inf")]).formula
    assert copied(formula) is formula


def test_a_formula_thousands_of_steps_deep() -> None:
    z = cm.Vi(0, 1)
    for _ in range(3000):
        z = z.sin() + 1
    assert copied(z.formula) is z.formula


def test_operations_have_one_name_each() -> None:
    """Unpickled ones are found by it."""
    names = [operation.name for operation in _KINDS]
    assert len(names) == len(set(names)) and all(copied(operation) is operation for operation in _KINDS)


def test_lazy_tensors(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 65, 3)).astype(np.float32)
    weights = cm.array(rng.standard_normal((65, 1)).astype(np.float32), context)
    for on_device in (False, True):
        K = (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum()).exp()
        K = K * cm.Vj(weights if on_device else weights.to_numpy())
        K.ranges = cm.Ranges.band(65, 65, 9)
        result = K.sum(1, context=context, mode=mode)
        np.testing.assert_array_equal(copied(K).sum(1, context=context, mode=mode), np.asarray(result))


def test_complex_lazy_tensors(context: cm.Context, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((9, 2)) + 1j * rng.standard_normal((9, 2))).astype(np.complex64)
    K = cm.Vi(x) * cm.Vj(x)
    np.testing.assert_array_equal(copied(K).sum(1, context=context), K.sum(1, context=context))
    later = (cm.Vi(x) * cm.Vj(x)).sum(1, call=False)
    np.testing.assert_array_equal(copied(later)(context=context), later(context=context))


@pytest.mark.parametrize("reduction", ["LogSumExp", "ArgKMin"])
def test_genred(reduction: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 33, 3)).astype(np.float32)
    k = 4 if reduction == "ArgKMin" else None
    genred = cm.Genred("-SqDist(x, y)", ["x = Vi(3)", "y = Vj(3)"], reduction, axis=1, opt_arg=k)
    result = copied(genred)(x, y, context=context, mode=mode)
    np.testing.assert_array_equal(result, genred(x, y, context=context, mode=mode))


def test_a_reduction_over_pairs_by_a_users_operator(context: cm.Context, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 33, 1)).astype(np.float32)
    later = (cm.Vi(0, 1) * cm.Vj(1, 1)).reduce(lambda a, b: a + b, axis=1, identity=0, call=False)
    again = copied_with_lambdas(later)
    np.testing.assert_array_equal(again(x, y, context=context), later(x, y, context=context))


def test_kernel_solve(context: cm.Context, rng: np.random.Generator) -> None:
    x, b = rng.uniform(size=(40, 3)), rng.standard_normal((40, 1))
    solve = cm.KernelSolve("Exp(-SqDist(x, y)) * a", ["x = Vi(3)", "y = Vj(3)", "a = Vj(1)"], "a", axis=1)
    np.testing.assert_array_equal(copied(solve)(x, x, b, alpha=1.0, context=context), solve(x, x, b, alpha=1.0, context=context))


def test_plans(context: cm.Context, rng: np.random.Generator) -> None:
    values = rng.standard_normal(100).astype(np.float32)
    offsets, sources = np.array([0, 30, 30, 100]), np.array([70, 0, 10])
    keys = np.repeat(rng.standard_normal(10), 10)
    indptr, indices = np.arange(0, 101, 5), rng.integers(0, 30, 100)
    x = rng.standard_normal(30).astype(np.float32)
    with context:
        for plan in (cm.SegmentPlan(offsets, 100), cm.SegmentPlan(np.array([0, 20, 40, 70]), 100, sources)):
            again = copied(plan)
            assert repr(again) == repr(plan) and again.context is context
            np.testing.assert_array_equal(again.reduce(values), plan.reduce(values))
        by_key = cm.KeyPlan(keys, key="last")
        for one, other in zip(copied(by_key).reduce(values, "maximum"), by_key.reduce(values, "maximum"), strict=True):
            np.testing.assert_array_equal(one, other)
        spmv = cm.SpmvPlan((indptr, indices, values))
        np.testing.assert_array_equal(copied(spmv).apply(x), spmv.apply(x))


def test_in_another_process(tmp_path: Path, rng: np.random.Generator) -> None:
    x = rng.standard_normal(1025).astype(np.float32)
    pipeline = cm.Map(lambda a: a * a + 1) >> cm.Reduce("sum")
    (tmp_path / "call").write_bytes(pytest.importorskip("cloudpickle").dumps((pipeline, x)))
    code = "import pickle, sys\npipeline, x = pickle.load(open(sys.argv[1], 'rb'))\nprint(float(pipeline(x)).hex())"
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "call")], capture_output=True, text=True, cwd=ROOT,
        env=with_library(), check=False,
    )  # fmt: skip
    assert run.stdout.strip() == float(pipeline(x)).hex(), run.stderr


def test_arrays_on_a_device_are_not_pickled(context: cm.Context) -> None:
    with pytest.raises(cm.ArgumentError, match="to_numpy"):
        copied(cm.Partials("sum")(np.ones(4, np.float32), context=context))


def test_devices_and_contexts_belong_to_their_process(context: cm.Context) -> None:
    """Copies are the same object; pickles are refused, with what to do."""
    for one in (context, context.device):
        assert copy.copy(one) is copy.deepcopy(one) is one
        with pytest.raises(TypeError, match="belongs to this process"):
            pickle.dumps(one)
