"""Wrong Dask arrays and wrong arguments of calls on them: errors at once, before anything is computed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from support.child_processes import with_library

import clmapreduce as cm

ROOT = Path(__file__).resolve().parents[2]
X = da.ones(10, chunks=3)
UNKNOWN = X[X > 0]
POINTS = da.ones((10, 3), chunks=(4, 3))
SUM = cm.Reduce("sum")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: SUM(UNKNOWN), cm.ShapeError, r"argument 1 .*\(nan, nan, nan, nan\).*compute_chunk_sizes"),
        (lambda: cm.Vi(da.ones((9, 2))[da.ones(9) > 0]), cm.ShapeError, "compute_chunk_sizes"),
        (lambda: cm.segmented_reduce(UNKNOWN, [0, 10]), cm.ShapeError, "compute_chunk_sizes"),
        (lambda: cm.Map("a + b")(X, da.ones(11)), cm.ShapeError, r"\(10,\) and \(11,\) do not broadcast"),
        (lambda: SUM(dask.delayed(np.ones)(3)), cm.ArgumentError, r"argument 1 .*da\.from_delayed"),
        (lambda: cm.Map("a + b")(X, cm.array(np.ones(10))), cm.DeviceError, r"argument 2 lives on .*to_numpy"),
        (lambda: SUM(X, context=cm.Context()), cm.ModeError, "Reduce: context= .*CLMR_DEVICE"),
        (lambda: SUM(X, out=np.empty(())), cm.ModeError, "out= is not offered"),
        (lambda: SUM(X, progress=True), cm.ModeError, "ProgressBar"),
        (lambda: SUM(X, tiles=1, mode="sequential"), cm.ModeError, "tiles="),
        (lambda: SUM(X, wait_for=[1]), cm.ModeError, "wait_for="),
        (lambda: SUM(X, finish="host"), cm.ModeError, "finish="),
        (lambda: SUM(POINTS, axis=0), cm.ModeError, "Reduce: axis= .*moveaxis"),
        (lambda: SUM(POINTS, keepdims=True), cm.ModeError, "keepdims="),
        (lambda: SUM(POINTS, initial=1), cm.ModeError, "initial="),
        (lambda: SUM(X, where=X > 0), cm.ModeError, "where="),
        (lambda: cm.reduce_by_key(X, X, sort=True), cm.ModeError, "sort=True is not offered"),
        (lambda: cm.Scan("sum")(POINTS, axis=0), cm.ModeError, "Scan: axis="),
        (lambda: cm.Map("a")(X, length=10), cm.ModeError, "length="),
        (lambda: cm.Scan("sum")(POINTS), cm.ShapeError, "one dimension"),
        (lambda: cm.Partials("sum")(POINTS), cm.ShapeError, "one dimension"),
        (lambda: cm.Partials("sum")(X).prefix(11), cm.ShapeError, r"prefix\(11\) at position 0 is outside 0 … 10"),
        (lambda: cm.Partials("sum")(X).prefix(0.5), cm.DTypeError, "integers"),
        (lambda: SUM(da.from_array(np.array(["a", "b"]))), cm.DTypeError, r"argument 1 .*<U1"),
        (lambda: cm.Map("a +")(X), cm.FormulaError, "cannot parse"),
        (lambda: cm.Map("a + b")(X), cm.FormulaError, "needs values for a, b; 1 given"),
        (lambda: cm.Reduce("argmin")(da.ones(0)), cm.ShapeError, "identity"),
        (lambda: (cm.Map("a") >> SUM)(POINTS.rechunk((10, 2)), batch=True), cm.ShapeError, r"rechunk\({-1: -1}\)"),
        (lambda: cm.Vi(POINTS).sum(0, ranges=cm.Ranges.band(10, 10, 1)), cm.ModeError, "ranges="),
        (lambda: cm.Vi(POINTS).sum(0, out=np.empty((1, 3))), cm.ModeError, "out="),
        (lambda: cm.Vi(POINTS).Kmin(11, axis=0), cm.ShapeError, "K = 11 of 10"),
        (lambda: (cm.Vi(POINTS) * cm.Vi(da.ones((9, 3)))), cm.ShapeError, "disagree on M"),
        (lambda: cm.LazyTensor(da.ones((2, 10, 1, 3))).sum(1), cm.ShapeError, "batch axes"),
        (lambda: cm.Vi(da.ones((9, 2), dtype=int)), cm.DTypeError, "floats"),
        (lambda: (cm.Vi(POINTS) * cm.Vj(POINTS)).solve(POINTS), cm.ModeError, r"x\.compute\(\)"),
    ],
)
def test_errors(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_functions_that_cannot_leave_their_process() -> None:
    on_device = cm.array(np.ones(3))
    operator = cm.Operator(lambda a, b: a + b + 0 * len(on_device), 0, check=False)
    with pytest.raises(cm.ArgumentError, match="cannot be pickled for Dask's workers: a DeviceArray"):
        cm.Reduce(operator)(X)


def test_devices_of_unlike_precision() -> None:
    """A part left by a device without float64, beside others."""
    from clmapreduce.dask.work.lines import side_by_side
    from clmapreduce.reductions import operator

    with_float64, without = (operator("sum").bind(np.dtype(np.float32), "auto", fp64) for fp64 in (True, False))
    parts = [np.zeros(1, with_float64.layout), np.zeros(1, without.layout)[["total"]]]
    with pytest.raises(cm.DeviceError, match="some have float64, others do not; choose them"):
        side_by_side(with_float64, parts)


def test_no_device_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLMR_DEVICE", "no such device")
    with pytest.raises(cm.DeviceError, match=r"Dask's worker in process .*no such device"):
        SUM(X)


def test_dask_is_imported_with_the_first_of_its_arrays() -> None:
    code = """
        import sys
        import numpy as np
        import clmapreduce as cm
        cm.Reduce("sum")(np.ones(3))
        assert not any(name.partition(".")[0] in ("dask", "distributed", "cloudpickle") for name in sys.modules)
        import dask.array as da
        assert cm.Reduce("sum")(da.ones(3)).compute() == 3
            assert cm.dask.to_devices
    """
    lines = "\n".join(line.strip() for line in code.splitlines())
    run = subprocess.run(
        [sys.executable, "-c", lines], cwd=ROOT, env=with_library(), capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
