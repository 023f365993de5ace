"""Conjugate gradients on the device: solves (A + α Id) x = b for positive definite operators that are only applied."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clmapreduce.calls.arguments import product
from clmapreduce.calls.progress import Report, reporting
from clmapreduce.checks import finite, numpy_array, quoted, takes, whole
from clmapreduce.device.array import DeviceArray, NumpyArray
from clmapreduce.device.convert import array
from clmapreduce.dtypes import FLOAT32, FLOAT64
from clmapreduce.errors import ArgumentError, Cancelled, DTypeError, ShapeError
from clmapreduce.math import isfinite, where
from clmapreduce.primitives import Reduce, fuse
from clmapreduce.primitives.compiled import Compiled
from clmapreduce.primitives.pipeline import Pipeline
from clmapreduce.primitives.transpose import transposed

Apply = Callable[[DeviceArray], Any]

MOST_TOLERANCE = 1e100
"""Its square, times the length of a system, is far from the largest float64."""
MOST_ITERATIONS = 10_000
MOST_BETWEEN_CHECKS = 10
DIAGONAL = "the preconditioner's diagonal"

_sum = Reduce("sum")


@dataclass(frozen=True)
class SolveStatus:
    """How a solve ended.

    reason: "converged", "iterations" (the cap is reached), "indefinite" (a direction without positive curvature: the
    operator is not positive definite to the precision of its dtype) or "not finite" (a NaN or an infinity came up: in
    b, x0, the preconditioner or what the operator gives). iterations: of the slowest system. residuals: root mean
    square of b − (A + α Id) x for every system, as the recurrence keeps it, shape (.., D); NaN where one came up.
    """

    reason: str
    iterations: int
    residuals: NumpyArray

    @property
    def converged(self) -> bool:
        return self.reason == "converged"

    @property
    def residual(self) -> float:
        """The largest one."""
        return float(self.residuals.max(initial=0.0))


class _State(NamedTuple):
    """Where all systems stand: lines, one a system, and single values per system.

    x: the solution so far. r: b − (A + α Id) x. p: the direction. q: A p. squared: Σ r². rz: Σ r M⁻¹ r. count: steps.
    A system rests once `squared` is at most the limit; one that cannot go on rests too, marked by the minus sign or
    NaN.
    """

    x: Any
    r: Any
    p: Any
    q: Any
    squared: Any
    rz: Any
    count: Any


def _advanced(state: _State, alpha: Any, limit: Any) -> Any:
    """(x, r, squared, count, sound) after a step along p. sound: which systems take it."""
    x, r, p, q, squared, rz, count = state
    q = q + alpha * p
    curvature = _sum(p * q)
    going = squared > limit
    sound = going & (curvature > 0) & (rz > 0)
    stopped = where(isfinite(curvature) & isfinite(rz), -squared, math.nan)
    size = where(sound, rz / curvature, 0)
    x, r = x + size * p, r - size * q
    squared = where(sound, _sum(r * r), where(going, stopped, squared))
    return x, r, squared, where(sound, count + 1, count), sound


def _next_direction(r: Any, z: Any, p: Any, rz: Any, sound: Any) -> Any:
    """The next direction, conjugate to those before, from z = M⁻¹ r."""
    new = _sum(r * z)
    return where(sound, z + new / rz * p, p), where(sound, new, rz)


def _stepped(state: _State, alpha: Any, limit: Any, inverse: Any = None) -> Any:
    """All of the state but q, after a step and a turn."""
    x, r, squared, count, sound = _advanced(state, alpha, limit)
    p, rz = _next_direction(r, r if inverse is None else inverse * r, state.p, state.rz, sound)
    return x, r, p, squared, rz, count


def _of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a state as one of its values, as pipelines call it."""
    count = len(_State._fields)
    return lambda *values: function(_State(*values[:count]), *values[count:])


_step = fuse(_of_values(_stepped))
_advance, _turn = fuse(_of_values(_advanced)), fuse(_next_direction)
_remainder = fuse(lambda b, x, q, alpha: b - q - alpha * x)
_first = fuse(lambda r, z: (_sum(r * r), _sum(r * z)))
_scale = fuse(lambda inverse, r: inverse * r)


def solve(
    matvec: Apply, b: Any, *, alpha: float = 1e-10, tolerance: float = 1e-6, max_iterations: int | None = None,
    preconditioner: Any = None, x0: Any = None, coupled: bool = False, mode: str = "auto", progress: Any = None,
) -> tuple[Any, SolveStatus]:  # fmt: skip
    """(x, status) with (A + alpha Id) x = b, A symmetric and positive definite.

    matvec: gives A v for DeviceArrays v of b's shape. b: (.., N, D) or (N,), float32 or float64; every column of every
    batch is a system of its own, with its own steps, that rests when it is solved. coupled: the columns of b depend on
    one another through A, and are one system. tolerance: a system is solved when the root mean square of its residual
    is at most that. max_iterations: 10 N, but 10 000 at most, where not given. preconditioner: the diagonal of a matrix
    near A + alpha Id, of b's shape or (N,), or a function that gives its inverse times r as `matvec` gives A v. x0: a
    first guess instead of 0. progress: as of a call, of iterations and their cap. x is a DeviceArray where b is one,
    else NumPy.

    Raises ShapeError or DTypeError for arrays that do not fit, and for numbers that are not finite. Method:
    preconditioned conjugate gradients (Hestenes and Stiefel 1952; Saad 2003, algorithm 9.1); only one number per system
    is read back, now and then.
    """
    right_side = array(b)
    if right_side.dtype not in (FLOAT32, FLOAT64):
        raise DTypeError(f"b has dtype {right_side.dtype}; systems are solved in float32 or float64")
    if right_side.ndim == 0:
        raise ShapeError("b is a number; a right-hand side has shape (.., N, D) or (N,)")
    alpha, tolerance = finite(alpha, "alpha"), finite(tolerance, "the tolerance (eps)")
    if tolerance < 0 or tolerance > MOST_TOLERANCE:
        raise ArgumentError(f"the tolerance (eps) is {tolerance!r}; give 0 or more, and at most {MOST_TOLERANCE}")
    if max_iterations is not None:
        max_iterations = whole(max_iterations, "max_iterations")
    if callable(preconditioner) and not takes(preconditioner, 1):
        raise ArgumentError(f"preconditioner is {quoted(preconditioner)}; give a function of one array, or a diagonal")
    systems = _Systems(right_side, matvec, alpha, coupled, mode)
    cap = min(10 * systems.length, MOST_ITERATIONS) if max_iterations is None else max_iterations
    with reporting(progress) as report:
        lines, squared, counts = systems.solved(tolerance, cap, preconditioner, x0, report)
        report(cap, cap)
    x = systems.columns(lines)
    status = _status(squared, counts, systems, tolerance)
    return (x if isinstance(b, DeviceArray) else x.to_numpy()), status


class _Systems:
    """Right-hand sides as lines (systems, length), and the operator on such lines."""

    def __init__(self, b: DeviceArray, matvec: Apply, alpha: float, coupled: bool, mode: str) -> None:
        self.b, self.matvec, self.alpha, self.mode = b, matvec, alpha, mode
        self.apart = not coupled and b.ndim > 1
        """Whether columns are systems of their own."""
        batch = b.shape[:-2] if b.ndim > 1 else ()
        self.shape = (*batch, b.shape[-1]) if self.apart else batch
        self.count = product(self.shape)
        self.length = b.size // self.count if self.count else 0

    def lines(self, x: DeviceArray) -> DeviceArray:
        """An array of b's shape as lines."""
        return (transposed(x, self.mode) if self.apart else x).reshape(self.count, self.length)

    def columns(self, lines: DeviceArray) -> DeviceArray:
        """The way back."""
        if not self.apart:
            return lines.reshape(self.b.shape)
        *batch, rows, columns = self.b.shape
        return transposed(lines.reshape(*batch, columns, rows), self.mode)

    def applied(self, function: Apply, lines: DeviceArray) -> DeviceArray:
        """function(lines), for a function of arrays of b's shape."""
        result = array(function(self.columns(lines)), self.b.context)
        if result.shape != self.b.shape or result.dtype != self.b.dtype:
            raise ShapeError(
                f"the operator gave {result.dtype}{list(result.shape)} for {self.b.dtype}{list(self.b.shape)}; "
                "it must keep shape and dtype"
            )
        return self.lines(result)

    def placed(self, x: Any, name: str) -> DeviceArray:
        """An array that broadcasts to b, as lines."""
        if isinstance(x, DeviceArray) and x.shape == self.b.shape:
            return self.lines(x)
        values = numpy_array(x, name, self.b.dtype)
        if values.ndim == 1 and self.b.ndim > 1:
            values = values[:, None]
        try:
            values = np.broadcast_to(values, self.b.shape)
        except ValueError:
            raise ShapeError(f"{name} has shape {np.shape(x)}; it must fit b's, {self.b.shape}") from None
        return self.lines(array(np.ascontiguousarray(values), self.b.context))

    def solved(
        self, tolerance: float, cap: int, preconditioner: Any, x0: Any, report: Report
    ) -> tuple[DeviceArray, Any, Any]:
        """(x as lines, Σ r² and the number of steps per system). Raises Cancelled."""
        queue = self.b.context.queue
        cancellations = queue.cancellations
        r = self.lines(self.b)
        zeros = np.zeros(r.shape, r.dtype)
        if not r.size:
            return r, np.zeros(self.count), np.zeros(self.count)
        x = array(zeros, r.context)
        if x0 is not None:
            x = self.placed(x0, "x0")
            r = _remainder(r, x, self.applied(self.matvec, x), self.alpha, batch=True, mode=self.mode)
        inverse = None
        if preconditioner is not None and not callable(preconditioner):
            inverse = self.placed(1 / numpy_array(preconditioner, DIAGONAL, self.b.dtype), DIAGONAL)
        step = _Step(self, float(self.length * tolerance**2), inverse, preconditioner if inverse is None else None)
        z = step.preconditioned(r)
        squared, rz = _first(r, z, batch=True, mode=self.mode)
        state = (x, r, z, *map(_single, (squared, rz)), array(zeros[:, :1], r.context))
        done, before = 0, math.inf
        while True:
            residuals = state[3].to_numpy()
            worst = residuals.max()
            if done >= cap or not (residuals > step.limit).any():
                return state[0], residuals[:, 0], state[5].to_numpy()[:, 0]
            if queue.cancellations != cancellations:
                raise Cancelled(f"the solve was cancelled after {done} iterations")
            report(done, cap)
            pause = min(_pause(before, worst, step.limit, done), cap - done)
            before, done = worst, done + pause
            for _ in range(pause):
                state = step(*state)


class _Step:
    """One iteration for all systems, compiled for their shape."""

    def __init__(self, systems: _Systems, limit: float, inverse: DeviceArray | None, function: Apply | None) -> None:
        self.systems, self.inverse, self.function = systems, inverse, function
        self.limit = systems.b.dtype.type(limit)
        line, single = (systems.count, systems.length), (systems.count, 1)
        shapes = [line, line, line, line, single, single, single, None, None]
        self.fused = self._compiled(_step, shapes if inverse is None else [*shapes, line]) if function is None else None
        self.advance = None if function is None else self._compiled(_advance, shapes)

    def _compiled(self, pipeline: Pipeline, shapes: list[Any]) -> Compiled:
        systems = self.systems
        return pipeline.compile(shapes, systems.b.dtype, batch=True, mode=systems.mode, context=systems.b.context)

    def preconditioned(self, r: DeviceArray) -> DeviceArray:
        """M⁻¹ r."""
        if self.function is not None:
            return self.systems.applied(self.function, r)
        if self.inverse is None:
            return r
        scaled: DeviceArray = _scale(self.inverse, r, batch=True, mode=self.systems.mode)
        return scaled

    def __call__(self, x: Any, r: Any, p: Any, squared: Any, rz: Any, count: Any) -> tuple[Any, ...]:
        systems = self.systems
        q = systems.applied(systems.matvec, p)
        values = (x, r, p, q, squared, rz, count, systems.alpha, self.limit)
        if self.fused is not None:
            x, r, p, *single = self.fused(*values, *([] if self.inverse is None else [self.inverse]))
            return (x, r, p, *map(_single, single))
        assert self.advance is not None
        x, r, squared, count, sound = self.advance(*values)
        p, rz = _turn(r, self.preconditioned(r), p, rz, _single(sound), batch=True, mode=systems.mode)
        return (x, r, p, *map(_single, (squared, rz, count)))


def _single(values: DeviceArray) -> DeviceArray:
    """One value per line, as the pipelines take it."""
    return values.reshape(values.size, 1)


def _pause(before: float, now: float, limit: float, done: int) -> int:
    """How many steps to take before looking again: half of those left, if they are as good as the last ones."""
    if not done or not 0 < now < before < math.inf or not limit > 0:
        return 1
    rate = math.log(before / now)
    return max(1, min(MOST_BETWEEN_CHECKS, int(math.log(now / limit) / rate / 2)))


def _status(squared: Any, counts: Any, systems: _Systems, tolerance: float) -> SolveStatus:
    residuals = np.sqrt(np.abs(squared.astype(np.float64)) / max(systems.length, 1)).reshape(systems.shape)
    limit = systems.b.dtype.type(systems.length * tolerance**2)
    if ((squared >= 0) & (squared <= limit)).all():
        reason = "converged"
    elif not np.isfinite(squared).all():
        reason = "not finite"
    else:
        reason = "iterations" if (squared > limit).any() else "indefinite"
    return SolveStatus(reason, int(counts.max(initial=0)), residuals)
