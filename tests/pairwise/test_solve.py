"""Linear systems: conjugate gradients against numpy.linalg.solve, and the ways in which a solve ends."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_near, unit

import clmapreduce as cm
from clmapreduce.pairwise.solve import solve

pytestmark = pytest.mark.drawn

KERNELS = {
    "gaussian": ("Exp(-g * SqDist(x, y)) * b", lambda d, g: np.exp(-g * d * d)),
    "laplacian": ("Exp(-g * Norm2(x - y)) * b", lambda d, g: np.exp(-g * d)),
}
ALPHA = 0.25


@pytest.fixture
def how(context: cm.Context, mode: str) -> dict[str, Any]:
    return {"context": context, "mode": mode}


@pytest.fixture
def dtype(context: cm.Context) -> Any:
    return np.float64 if context.device.fp64 else np.float32


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def aliases(dim: int, axis: int) -> list[str]:
    return ["x = Vi(3)", "y = Vj(3)", f"b = V{'ij'[axis]}({dim})", "g = Pm(1)"]


def distances(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    return np.sqrt(((wide[..., :, None, :] - wide[..., None, :, :]) ** 2).sum(-1))


def exact(matrix: np.ndarray, b: np.ndarray, alpha: float = ALPHA) -> np.ndarray:
    return np.linalg.solve(matrix + alpha * np.eye(matrix.shape[-1]), b.astype(np.float64))


def tolerance(matrix: np.ndarray, a: np.ndarray, eps: float, dtype: Any, alpha: float = ALPHA) -> float:
    """How far a solution may be: the inverse's norm is 1/alpha at most; the residual is known but for the rounding of
    every step's product, relative to the largest entries of all iterates."""
    rows = matrix.shape[-1]
    rounding = 64 * unit(dtype) * np.abs(matrix).sum(-1).max() * np.sqrt(rows) * np.abs(a).max()
    return float((eps * np.sqrt(a[..., 0].size) + rounding) / alpha)


def rowwise(matrix: np.ndarray) -> Any:
    """The product with a matrix on the host, as an operator on device arrays."""
    return lambda v: cm.array((matrix @ v.to_numpy()).astype(v.dtype), v.context)


class TestKernelSolve:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("axis", [0, 1])
    @pytest.mark.parametrize("code", ["f4", "f8"])
    def test_agrees_with_numpy(self, kernel: str, axis: int, code: str, how: Any, rng: np.random.Generator) -> None:
        if code == "f8" and not how["context"].device.fp64:
            pytest.skip("no float64")
        eps = 1e-5 if code == "f4" else 1e-11
        formula, matrix_of = KERNELS[kernel]
        for rows, dim in ((1, 1), (31, 3), (193, 1)):
            x, b = rng.random((rows, 3)).astype(code), rng.standard_normal((rows, dim)).astype(code)
            solver = cm.KernelSolve(formula, aliases(dim, axis), "b", axis=axis)
            a = solver(x, x, b, np.array([5], code), alpha=ALPHA, eps=eps, **how)
            matrix = matrix_of(distances(x), 5)
            expected = exact(matrix, b)
            assert a.dtype == b.dtype and isinstance(a, np.ndarray)
            assert_near(a, expected, tolerance(matrix, expected, eps, code), (rows, dim))
            assert solver.status.converged and solver.status.residual <= eps and solver.status.residuals.shape == (dim,)

    def test_a_device_array_gives_one(self, how: Any, rng: np.random.Generator) -> None:
        x, b = rng.random((100, 3)).astype("f4"), rng.standard_normal((100, 1)).astype("f4")
        solver = cm.KernelSolve(KERNELS["laplacian"][0], aliases(1, 1), "b", axis=1)
        a = solver(x, x, cm.array(b, how["context"]), [3.0], alpha=1, eps=1e-4, mode=how["mode"])
        assert isinstance(a, cm.DeviceArray) and a.shape == b.shape
        matrix = KERNELS["laplacian"][1](distances(x), 3)
        assert_near(a.to_numpy(), exact(matrix, b, 1), tolerance(matrix, exact(matrix, b, 1), 1e-4, "f4", 1))

    def test_columns_that_the_formula_mixes_are_one_system(
        self, how: Any, dtype: Any, rng: np.random.Generator
    ) -> None:
        rows, dim = 50, 3
        x, b = rng.random((rows, 3)).astype(dtype), rng.standard_normal((rows, dim)).astype(dtype)
        mixing = rng.standard_normal((dim, dim))
        mixing = mixing @ mixing.T + np.eye(dim)
        formula = "MatVecMult(m, b) * Exp(-SqDist(x, y))"
        solver = cm.KernelSolve(formula, ["x = Vi(3)", "y = Vj(3)", "b = Vj(3)", "m = Pm(9)"], "b", axis=1)
        a, status = solver(x, x, b, mixing.reshape(-1).astype(dtype), alpha=1, eps=1e-5, return_status=True, **how)
        whole = np.kron(np.exp(-(distances(x) ** 2)), mixing.astype(dtype).astype(float))
        expected = exact(whole, b.reshape(-1), 1).reshape(rows, dim)
        assert status.residuals.shape == () and status.converged
        assert_near(a, expected, tolerance(whole, expected.reshape(-1, 1), 1e-5, dtype, 1))

    def test_batches_are_systems_of_their_own(self, how: Any, dtype: Any, rng: np.random.Generator) -> None:
        x, b = rng.random((4, 40, 3)).astype(dtype), rng.standard_normal((40, 2)).astype(dtype)
        solver = cm.KernelSolve(KERNELS["gaussian"][0], aliases(2, 1), "b", axis=1)
        a = solver(x, x, b, np.array([2], dtype), alpha=ALPHA, eps=1e-5, **how)
        matrix = np.exp(-2 * distances(x) ** 2)
        expected = exact(matrix, np.broadcast_to(b, (4, 40, 2)))
        assert solver.status.residuals.shape == (4, 2)
        assert_near(a, expected, tolerance(matrix, expected, 1e-5, dtype))

    def test_the_cap_holds_and_a_warning_names_it(self, how: Any, rng: np.random.Generator) -> None:
        x, b = rng.random((50, 3)).astype("f4"), rng.standard_normal((50, 1)).astype("f4")
        solver = cm.KernelSolve(KERNELS["gaussian"][0], aliases(1, 1), "b", axis=1)
        for cap in (0, 1, 7):
            with pytest.warns(RuntimeWarning, match="the cap is reached"):
                solver(x, x, b, np.ones(1, "f4"), max_iterations=cap, **how)
            assert solver.status.reason == "iterations" and solver.status.iterations == cap
        with pytest.warns(RuntimeWarning, match="no convergence"):  # KeOps' own does not return from this
            solver(x, x, b, np.ones(1, "f4"), **how)

    def test_wrong_input(self, how: Any, rng: np.random.Generator) -> None:
        formula = KERNELS["gaussian"][0]
        with pytest.raises(cm.FormulaError, match="'c'"):
            cm.KernelSolve(formula, aliases(1, 1), "c", axis=1)
        with pytest.raises(cm.ShapeError, match="axis=0"):
            cm.KernelSolve(formula, aliases(1, 1), "b", axis=0)
        with pytest.raises(cm.ShapeError, match="dimension 1"):
            cm.KernelSolve("SqDist(x, y) * Sum(b)", aliases(2, 1), "b", axis=1)
        solver = cm.KernelSolve(formula, aliases(1, 1), "b", axis=1)
        x, b, g = rng.random((5, 3)), rng.random((6, 1)), np.ones(1)
        with pytest.raises(cm.ShapeError, match="5 × 6"):
            solver(x, rng.random((6, 3)), b, g, **how)
        with pytest.raises(cm.DTypeError):
            solver(x, x, b[:5].astype("f4"), g, **how)
        with pytest.raises(cm.ShapeError, match="ranges_i"):
            solver(x, x, b[:5], g, ranges=(1,) * 6, **how)


class TestLazySolve:
    def test_agrees_with_numpy(self, how: Any, dtype: Any, rng: np.random.Generator) -> None:
        x, b = rng.random((64, 3)).astype(dtype), rng.standard_normal((64, 2)).astype(dtype)
        lazy = (-2 * ((cm.Vi(x) - cm.Vj(x)) ** 2).sum(-1)).exp()
        matrix = np.exp(-2 * distances(x) ** 2)
        expected = exact(matrix, b)
        near = tolerance(matrix, expected, 1e-5, dtype)
        options = {"alpha": ALPHA, "eps": 1e-5, **how}
        var, symbolic = cm.Vj(0, 2), cm.Vi(3, 2)
        for a in (
            lazy.solve(b, **options),
            lazy.solve(cm.Vi(b), **options),
            lazy.solve(cm.Vj(b), **options),
            (lazy * var).solve(b, var=var, **options),
            lazy.solve(b, call=False)(**options),
            lazy.solve(symbolic, **options)(b),
        ):
            assert_near(a, expected, near)

    def test_wrong_input(self, rng: np.random.Generator) -> None:
        x = rng.random((6, 3))
        lazy = (cm.Vi(x) | cm.Vj(x)).exp()
        with pytest.raises(cm.ShapeError, match="right-hand side"):
            lazy.solve(cm.Vi(x) + 1)
        with pytest.raises(cm.FormulaError, match="does not occur"):
            lazy.solve(x, var=cm.Vj(0, 3))
        with pytest.raises(cm.ShapeError, match=r"Vj\(3\)"):
            (lazy * cm.Vj(0, 2)).solve(x, var=cm.Vj(0, 2))
        with pytest.raises(cm.ModeError, match="out"):
            lazy.solve(x, out=x)


class TestSolve:
    def test_every_column_takes_its_own_steps_and_rests_when_solved(self, context: Any, mode: str, dtype: Any) -> None:
        spectra = np.diag(np.array([1, 1, 1, 1, 2, 3, 4, 5.0]))
        b = np.zeros((8, 3), dtype)
        b[:4, 0], b[:, 1] = 1, 1  # one eigenvalue, all of them, none
        x, status = solve(rowwise(spectra), cm.array(b, context), alpha=0, tolerance=1e-4, mode=mode)
        assert_near(x.to_numpy(), b / np.diag(spectra)[:, None], 1e-3)
        assert status.converged and status.iterations == 5 and not x.to_numpy()[:, 2].any()
        alone, _ = solve(rowwise(spectra), cm.array(b[:, :1].copy(), context), alpha=0, tolerance=1e-4, mode=mode)
        assert_near(x.to_numpy()[:, :1], alone.to_numpy(), 4 * unit(dtype))

    def test_a_preconditioner_saves_iterations(
        self, context: Any, mode: str, dtype: Any, rng: np.random.Generator
    ) -> None:
        diagonal = 10 ** np.linspace(0, 3, 200)
        near = rng.standard_normal((200, 5)) / 10
        matrix = np.diag(diagonal) + near @ near.T
        b = cm.array(rng.standard_normal((200, 1)).astype(dtype), context)
        options = {"alpha": 0.0, "tolerance": 1e-4, "mode": mode}
        _, plain = solve(rowwise(matrix), b, **options)
        expected = np.linalg.solve(matrix, b.to_numpy().astype(float))
        scale = cm.Map(lambda r, d: r / d)
        divide = cm.array(np.diag(matrix)[:, None].astype(dtype), context)
        for preconditioner in (np.diag(matrix), lambda r: scale(r, divide)):
            x, status = solve(rowwise(matrix), b, preconditioner=preconditioner, **options)
            assert_near(x.to_numpy(), expected, 2e-3)
            assert status.converged and status.iterations <= 12 < 30 < plain.iterations

    def test_a_good_guess_needs_no_step(self, context: Any, mode: str, dtype: Any, rng: np.random.Generator) -> None:
        matrix = np.diag(np.arange(1.0, 31))
        guess = rng.standard_normal((30, 2)).astype(dtype)
        b = cm.array((matrix @ guess + 2 * guess).astype(dtype), context)
        for x0 in (guess, cm.array(guess, context)):
            x, status = solve(rowwise(matrix), b, alpha=2, x0=x0, tolerance=1e-4, mode=mode)
            assert status.iterations == 0 and status.converged
            assert_near(x.to_numpy(), guess, 0)

    @pytest.mark.parametrize("last", [-3, np.nan])
    def test_what_cannot_be_solved_ends_and_says_so(self, last: float, context: cm.Context, mode: str) -> None:
        b = np.array([[0, 1], [0, 1], [1, 0]], "f4")
        product = cm.Map(lambda v, d: cm.where(d == 0, v, v * d))  # 0 stands for 1: NaN must not reach the other column
        diagonal = cm.array(np.array([[0, 1], [0, 2], [last, 0]], "f4"), context)
        x, status = solve(lambda v: product(v, diagonal), cm.array(b, context), alpha=0, mode=mode)
        assert status.reason == ("not finite" if np.isnan(last) else "indefinite")
        assert np.isnan(status.residuals).tolist() == [bool(np.isnan(last)), False]
        assert_near(x.to_numpy()[:, 1], [1, 0.5, 0], 1e-5)  # its neighbour is solved

    def test_nan_on_the_right_ends_at_once(self, context: cm.Context, mode: str) -> None:
        x, status = solve(lambda v: v, cm.array(np.array([[1, np.nan]], "f4"), context), alpha=1, mode=mode)
        assert status.reason == "not finite" and status.iterations == 1
        assert_near(x.to_numpy(), [[0.5, np.nan]], 1e-6)

    @pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 10**400])
    def test_numbers_that_are_not_finite(self, number: Any, context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
        """They are refused before any launch: with an infinite tolerance the answer would be 0, and a NaN would look like an
        operator that is not definite.
        """
        points, b = np.linspace(0, 1, 6, dtype="f4")[:, None], np.ones((6, 1), "f4")
        kernel = (-((cm.Vi(points) - cm.Vj(points)) ** 2).sum(2)).exp()

        def refuse(*_: Any) -> None:
            raise AssertionError("something was launched")

        monkeypatch.setattr(type(context.queue), "launch", refuse)
        with pytest.raises(cm.ArgumentError, match=r"the tolerance \(eps\) is .*; it must be a "):
            kernel.solve(b, eps=number, context=context)
        with pytest.raises(cm.ArgumentError, match=r"alpha is .*; it must be a "):
            kernel.solve(b, alpha=number, context=context)

    def test_a_warning_names_what_is_not_finite(self, context: cm.Context) -> None:
        points, b = np.linspace(0, 1, 6, dtype="f4")[:, None], np.ones((6, 1), "f4")
        for arguments in ((np.where(points == 0, np.nan, points), b), (points, np.where(points == 1, np.nan, b))):
            kernel = (-((cm.Vi(arguments[0]) - cm.Vj(arguments[0])) ** 2).sum(2)).exp()
            with pytest.warns(RuntimeWarning, match="a NaN or an infinity came up; look for one in b") as warnings_:
                kernel.solve(arguments[1], alpha=1.0, context=context)
            assert "definite" not in str(warnings_[0].message)

    def test_empty_and_flat(self, context: Any, mode: str, dtype: Any) -> None:
        for shape in ((0, 1), (0, 3), (4, 0)):
            x, status = solve(lambda v: v, cm.array(np.ones(shape, dtype), context), mode=mode)
            assert x.shape == shape and status.converged and status.iterations == 0
        x, _ = solve(lambda v: v, cm.array(np.arange(5, dtype=dtype), context), alpha=1, mode=mode)
        assert_near(x.to_numpy(), np.arange(5) / 2, 1e-5)

    def test_wrong_input(self, context: Any) -> None:
        b = cm.array(np.ones((4, 1), "f4"), context)
        with pytest.raises(cm.DTypeError, match="int32"):
            solve(lambda v: v, np.ones((4, 1), np.int32))
        with pytest.raises(cm.ShapeError, match="number"):
            solve(lambda v: v, np.float32(1))
        with pytest.raises(cm.ShapeError, match="must keep"):
            solve(lambda v: v.reshape(1, 4), b)
        for most in (-1, 1.5, True):
            with pytest.raises(cm.ShapeError, match="max_iterations"):
                solve(lambda v: v, b, max_iterations=most)  # type: ignore[arg-type]
        for wrong in ("a", None, True, [1e-6], 1j):
            with pytest.raises(cm.ArgumentError, match=r"tolerance \(eps\) is .*; it must be a "):
                solve(lambda v: v, b, tolerance=wrong)  # type: ignore[arg-type]
            with pytest.raises(cm.ArgumentError, match=r"alpha is .*; it must be a "):
                solve(lambda v: v, b, alpha=wrong)  # type: ignore[arg-type]
        for beyond in (-1, 1e294):
            with pytest.raises(cm.ArgumentError, match=r"tolerance \(eps\) is .*; give 0 or more"):
                solve(lambda v: v, b, tolerance=beyond)
        with pytest.raises(cm.DTypeError, match="masked"):
            solve(lambda v: v, b, x0=np.ma.masked_array(np.ones((4, 1), "f4"), mask=np.eye(4, 1)))
        with pytest.raises(cm.DTypeError, match="masked"):
            solve(lambda v: v, b, preconditioner=np.ma.masked_array(np.ones(4), mask=[0, 0, 1, 0]))
        with pytest.raises(cm.ShapeError, match="x0"):
            solve(lambda v: v, b, x0=np.ones(3))
        with pytest.raises(cm.ShapeError, match="diagonal"):
            solve(lambda v: v, b, preconditioner=np.ones((4, 2)))
