"""Derivatives of formulas, as formulas: reverse and forward, matrices, divergence, Laplacian, traces.

Equal parts are shared because vectors are interned: a formula and its gradient have one graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.vector.algebra import total
from clmapreduce.vector.arithmetic import ADD, DIVIDE, MINUS, MULT, SUBTRACT, add, divide, minus, multiply
from clmapreduce.vector.coordinates import concat, elem, elem_t
from clmapreduce.vector.node import Category, Operand, Variable, Vector, as_vector, postorder
from clmapreduce.vector.operation import ONE, SUM_T, ZERO, sum_t, zero
from clmapreduce.vector.registry import OPERATIONS, named


@named("Grad")
def gradient(f: Operand, v: Operand, g: Operand | None = None) -> Vector:
    """The gradient of (f | g) by the variable v, of v's dimension; g, of f's dimension, is 1 if f has dimension 1.

    Raises ShapeError for another g, FormulaError for an argument that is not a variable and for formulas without a
    derivative.
    """
    f, v = as_vector(f), _variable("Grad", v)
    g = _cotangent("Grad", f, g)
    if v not in f.variables:
        return zero(v.dim)
    received: dict[Vector, Vector] = {f: g}
    for node in reversed(list(postorder([f]))):
        if node is v or node not in received:
            continue
        incoming = received.pop(node)
        for arg, part in zip(node.args, node.operation.gradient(node, incoming), strict=True):
            if part is not None and part.operation is not ZERO and v in arg.variables:
                received[arg] = add(received[arg], part) if arg in received else part
    return received.get(v, zero(v.dim))


@named("Diff")
def directional(f: Operand, v: Operand, u: Operand) -> Vector:
    """The derivative of f along u, by the variable v: of f's dimension; u has v's. Raises as `gradient`.

    The transpose of a transpose: f's gradient is linear in its g, and the gradient of that by g is the derivative.
    """
    f, v, u = as_vector(f), _variable("Diff", v), as_vector(u)
    if u.dim not in (1, v.dim):
        raise ShapeError(f"Diff: the direction has dimension {u.dim}, the variable {v.dim}; they must be equal")
    g = fresh(f.dim, f, u)
    return gradient(gradient(f, v, g), g, sum_t(u, v.dim))


@named("GradMatrix")
def grad_matrix(f: Operand, v: Operand) -> Vector:
    """The gradients of f's coordinates one behind the other: the Jacobian, row by row. Raises as `gradient`."""
    f = as_vector(f)
    return concat(*(gradient(elem(f, k), v) for k in range(f.dim)))


@named("Divergence")
def divergence(f: Operand, v: Operand) -> Vector:
    """The trace of f's Jacobian by v; f has v's dimension. Raises as `gradient`."""
    f, v = as_vector(f), _variable("Divergence", v)
    if f.dim != v.dim:
        raise ShapeError(f"Divergence: the formula has dimension {f.dim}, the variable {v.dim}; they must be equal")
    u = fresh(v.dim, f)
    return _trace(directional(f, v, u), u)


@named("Laplacian")
def laplacian(f: Operand, v: Operand) -> Vector:
    """The divergence of the gradient of a formula of dimension 1. Raises as `gradient`."""
    f = as_vector(f)
    if f.dim != 1:
        raise ShapeError(f"Laplacian: the formula has dimension {f.dim}; it must have 1")
    return divergence(gradient(f, v), v)


@named("TraceOperator", "Trace_Operator")
def trace_operator(f: Operand, v: Operand) -> Vector:
    """The trace of the linear map v → f. Raises ShapeError, FormulaError where f is not linear in v."""
    f, v = as_vector(f), _variable("TraceOperator", v)
    if f.dim != v.dim:
        raise ShapeError(f"TraceOperator: the formula has dimension {f.dim}, the variable {v.dim}; they must be equal")
    _check_linear("TraceOperator", f, v)
    return _trace(f, v)


@named("AdjointOperator")
def adjoint_operator(f: Operand, v: Operand, u: Operand) -> Vector:
    """The transpose of the linear map v → f, applied to u of f's dimension. Raises as `trace_operator`."""
    f, v = as_vector(f), _variable("AdjointOperator", v)
    _check_linear("AdjointOperator", f, v)
    return gradient(f, v, u)


def fresh(dim: int, *formulas: Vector) -> Variable:
    """A variable that stands in none of the formulas; its position is negative."""
    lowest = min((variable.position for formula in formulas for variable in formula.variables), default=0)
    return Variable(min(lowest, 0) - 1, dim, Category.PARAMETER)


def substitute(f: Vector, replaced: Mapping[Any, Vector]) -> Vector:
    """f with variables, or other parts, replaced by formulas of their dimensions, simplified. Raises ShapeError."""
    for part, by in replaced.items():
        if by.dim != part.dim:
            raise ShapeError(f"{part!r} cannot be replaced by a formula of dimension {by.dim}")
    result: dict[Vector, Vector] = dict(replaced)
    for part in postorder([f], result):
        args = tuple(result[arg] for arg in part.args)
        changed = any(new is not old for new, old in zip(args, part.args, strict=True))
        result[part] = OPERATIONS[part.operation.name](*args, *part.params) if changed else part
    return result[f]


def _variable(name: str, v: Operand) -> Variable:
    if not isinstance(v, Variable):
        raise FormulaError(f"{name} differentiates by a variable, not by {v!r}")
    return v


def _cotangent(name: str, f: Vector, g: Operand | None) -> Vector:
    if g is None:
        if f.dim != 1:
            raise FormulaError(f"{name}: the formula has dimension {f.dim}; give a vector of that dimension as well")
        return ONE
    g = as_vector(g)
    if g.dim not in (1, f.dim):
        raise ShapeError(f"{name}: the given vector has dimension {g.dim}, the formula {f.dim}; they must be equal")
    return sum_t(g, f.dim)


def _check_linear(name: str, f: Vector, v: Variable) -> None:
    direction = fresh(v.dim, f)
    constant = v in directional(f, v, direction).variables
    if constant or substitute(f, {v: zero(v.dim)}).operation is not ZERO:
        raise FormulaError(f"{name}: the formula is not linear in {v!r}")


def _trace(f: Vector, v: Variable) -> Vector:
    """The trace of v → f, f linear in v: Σ_k w_k f_k(e_k) with w = 1, where w takes up f's outer factors."""
    terms: list[Vector] = []
    todo: list[tuple[Vector, Vector]] = [(f, ONE)]
    while todo:
        part, w = todo.pop()
        if v not in part.variables:  # a zero
            continue
        operation, args = part.operation, part.args
        if operation is SUM_T:
            todo.append((args[0], w))
        elif part is v:
            terms.append(total(sum_t(w, v.dim)))
        elif part.dim == 1:  # Σ_k w_k f(e_k) = f(w)
            terms.append(substitute(part, {v: sum_t(w, v.dim)}))
        elif operation is MINUS:
            todo.append((args[0], minus(w)))
        elif operation is ADD:
            todo += [(args[1], w), (args[0], w)]
        elif operation is SUBTRACT:
            todo += [(args[1], minus(w)), (args[0], w)]
        elif operation is MULT:
            linear, factor = args if v in args[0].variables else args[::-1]
            todo.append((linear, multiply(w, factor)))
        elif operation is DIVIDE:
            todo.append((args[0], divide(w, args[1])))
        else:
            basis = [elem_t(ONE, v.dim, k) for k in range(v.dim)]
            weights = sum_t(w, v.dim)
            terms += [multiply(elem(weights, k), elem(substitute(part, {v: unit}), k)) for k, unit in enumerate(basis)]
    result = zero(1)
    for term in terms:
        result = add(result, term)
    return result
