"""Devices that need not be there, formulas, and plans of every kind: what tests of schemes and templates plan with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import clmapreduce as cm
from cl_templates import render
from clmapreduce.domain.line import Line, Lines
from clmapreduce.formula.formula import Access, Formula, Input, symbol, value_dtype
from clmapreduce.formula.node import components
from clmapreduce.formula.trace import as_value, trace
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Layout, Plan, Stage
from clmapreduce.planning.lines import RecurrenceRequest
from clmapreduce.program.program import Program, shared
from clmapreduce.program.step import Step
from clmapreduce.program.tracing import tracing
from clmapreduce.reductions import Bound, Operator, ReductionOp, operator
from clmapreduce.reductions.recurrences.iteration import Iteration
from clmapreduce.reductions.recurrences.linear import BoundLinear
from clmapreduce.reductions.recurrences.moebius import BoundMoebius
from clmapreduce.reductions.recurrences.tropical import BoundTropical
from clmapreduce.schemes.common.boxes import LaunchBox, launch_box, strictly_sequential
from clmapreduce.schemes.line.chain import Chain
from clmapreduce.schemes.line.fused import plan_fused
from clmapreduce.schemes.line.fused_line import Fused
from clmapreduce.schemes.line.map import plan_map
from clmapreduce.schemes.line.recurrences.iterate import plan_iterate
from clmapreduce.schemes.line.reduce import box_name, plan_reduce
from clmapreduce.schemes.line.scans.prefix import Queries, plan_prefix
from clmapreduce.schemes.line.scans.scan import Prefixes, plan_scan
from clmapreduce.schemes.line.scans.upsweep import plan_upsweep
from clmapreduce.schemes.line.series.power_series import plan_power_series
from clmapreduce.schemes.line.shared_rows import plan_shared_rows
from clmapreduce.schemes.line.unfold import Powers, plan_unfold
from support.batch_plans import every_batch_plan
from support.key_plans import every_key_plan
from support.pair_plans import every_pair_plan
from support.segment_plans import every_segment_plan
from support.series_plans import every_series_plan
from support.sort_plans import every_sort_plan

VARYING = (Access.VECTOR, Access.STRIDED, Access.LINE)
SEQUENTIAL, PARALLEL = ComputeMode.SEQUENTIAL, ComputeMode.PARALLEL
MODES = [SEQUENTIAL, PARALLEL]

INTEL = Facts("intel", "cpu", 2, 8192, 1 << 18, 1, True, True)
FACTS = {
    "intel": INTEL,
    "subgroups": Facts("subgroups+intel", "cpu", 2, 8192, 1 << 18, 16, True, True, groups_progress=True),
    "pocl": Facts("pocl", "cpu", 64, 4096, 1 << 19, 1, True, True, halves_wide_calls=True),
    "wide": Facts("wide+pocl", "cpu", 2, 4096, 1 << 19, 1, True, True, halves_wide_calls=True),
    "nvidia": Facts(
        "nvidia", "gpu", 132, 1024, 48 << 10, 32, True, False, True, register_fragments=True, limits_registers=True,
        groups_may_return=True, groups_progress=True, device_fences=True, vectors_of_half=False, quick_functions=True,
    ),
    "amd": Facts("portable", "gpu", 60, 256, 64 << 10, 1, True, False),
    "small": Facts("portable", "gpu", 1, 32, 16 << 10, 1, False, False),
}
"""`intel` is its CPU runtime without sub-groups. `nvidia` has matrix units; `small` has no float64, and groups of 32."""

PAIR = np.dtype([("a", "f4"), ("b", "i8")], align=True)
MATRIX = Operator(
    lambda a, b: {"a": a["a"] * b["a"], "b": a["b"] * b["b"] + b["b"]}, (1, 0), PAIR, commutative=False, check=False,
    name="affine",
)  # fmt: skip
SECOND = Operator(lambda a, b: a * 0 + b, 0, commutative=False, check=False, name="second")


def formula_of(function: Callable[..., Any], *inputs: Any) -> Formula:
    """A traced formula; an input is a dtype, or (dtype, access), or (dtype, access, rank)."""
    return trace(function, inputs_of(inputs), "the map")


def inputs_of(inputs: Sequence[Any]) -> list[Input]:
    traced_inputs = []
    for i, description in enumerate(inputs):
        code, access, rank = (*(description if isinstance(description, tuple) else (description,)), Access.VECTOR, 0)[:3]
        dtype = np.dtype(code)
        value = symbol(f"argument {i + 1}", dtype)
        traced_inputs.append(Input(f"in{i}", dtype, value, access, rank if access is Access.STRIDED else 0))
    return traced_inputs


def layout_of(formula: Formula, streaming: bool = False) -> Layout:
    return Layout(formula, tuple(output_dtype(value) for value in formula.outputs), streaming)


def output_dtype(value: Any) -> np.dtype[Any]:
    return (
        np.dtype([(name, n.dtype) for name, n in value.items()], align=True) if isinstance(value, dict) else value.dtype
    )


def bound_of(op: str | ReductionOp, formula: Formula, facts: Facts, accumulate: Any = "auto") -> Bound:
    return operator(op).bind(output_dtype(formula.outputs[0]), accumulate, facts.fp64)


def box_for(scheme: str, mode: ComputeMode, facts: Facts, tiles: int | None = None) -> LaunchBox:
    box = launch_box(scheme, mode, facts)
    return box if tiles is None else strictly_sequential(box)


# --------------------------------------------------------------------------------------------------------------- plans
def map_plan(formula: Formula, length: int, mode: ComputeMode, facts: Facts, **how: Any) -> Plan:
    box = box_for("map", mode, facts, how.pop("tiles", None))
    return plan_map(layout_of(formula, how.pop("streaming", False)), Line(length), mode, facts, replace(box, **how))


def reduce_plan(op: Any, formula: Formula, length: int, mode: ComputeMode, facts: Facts, **how: Any) -> Plan:
    bound_operator = bound_of(op, formula, facts, how.pop("accumulate", "auto"))
    box = box_for(box_name(bound_operator, formula), mode, facts, how.pop("tiles", None))
    on_host = how.pop("on_host", False)
    layout = Layout(formula, (bound_operator.result,))
    return plan_reduce(layout, bound_operator, Line(length), mode, facts, replace(box, **how), on_host)


def scan_plan(op: Any, formula: Formula, length: int, mode: ComputeMode, facts: Facts, **how: Any) -> Plan:
    wide, narrow = bound_of(op, formula, facts), bound_of(op, formula, facts, "fast")
    wide = wide if len(wide.components) == len(narrow.components) else narrow
    layout = Layout(formula, (wide.result,), how.pop("streaming", False))
    tiles = how.pop("tiles", None)
    boxes = [box_for(name, mode, facts, tiles) for name in ("scan", box_name(wide, formula))]
    exclusive = how.pop("exclusive", False)
    boxes[0] = replace(boxes[0], **how)
    return plan_scan(layout, Prefixes(narrow, wide, exclusive), Line(length), mode, facts, *boxes)


def unfold_plan(op: Any, formula: Formula, length: int, mode: ComputeMode, facts: Facts, **how: Any) -> Plan:
    bound_operator = bound_of(op, formula, facts)
    box = box_for("unfold", mode, facts, how.pop("tiles", None))
    powers = Powers(bound_operator, output_dtype(formula.outputs[0]), how.pop("first_power", 1))
    return plan_unfold(layout_of(formula), powers, Line(length), mode, facts, replace(box, **how))


def program_of(
    function: Callable[..., Any], *inputs: Any, fp64: bool = True, accumulate: Any = "auto", plain: bool = False
) -> Program:
    """A traced function of vectors; inputs as for `formula_of`. plain: as it was traced, before equal parts are shared."""
    traced_inputs = tuple(replace(i, value=symbol(i.name, i.dtype, i.access in VARYING)) for i in inputs_of(inputs))
    with tracing(fp64, accumulate) as line:
        result = function(*(i.value for i in traced_inputs))
    if isinstance(result, Step):
        program = Program(traced_inputs, (), line.length, result)
    else:
        outputs = result if isinstance(result, tuple) else (result,)
        program = Program(traced_inputs, tuple(as_value(output, "a test") for output in outputs), line.length)
    return program if plain else shared(program)


def dtypes_of(program: Program) -> tuple[np.dtype[Any], ...]:
    """The dtypes of a program's outputs."""
    return tuple(value_dtype(value) for value in program.outputs)


def chain_of(function: Callable[..., Any], *inputs: Any, fp64: bool = True) -> Chain:
    """The links of a function of vectors; inputs as for `formula_of`."""
    program = program_of(function, *inputs, fp64=fp64)
    return Chain(program, dtypes_of(program))


def pipeline_plan(
    function: Callable[..., Any],
    length: int,
    mode: ComputeMode,
    facts: Facts,
    scope: Scope,
    *inputs: Any,
    rows: int = 1,
) -> Plan:
    """The plan of a function of vectors at a scope; inputs as for `formula_of`."""
    program = program_of(function, *inputs, fp64=facts.fp64)
    dtypes = dtypes_of(program)
    if scope is Scope.DEVICE:
        chain = Chain(program, dtypes)
        lines = Lines(rows, length)
        if rows > 1:
            return plan_shared_rows(chain, lines, mode, facts, {})
        return chain.plan(Line(length), mode, facts, True)
    box = launch_box("fused_rows" if scope is Scope.ITEM else "fused_group", mode, facts)
    return plan_fused(Fused(program, dtypes), Lines(rows, length), scope, mode, facts, box, "a test")


def upsweep_plan(op: Any, formula: Formula, length: int, mode: ComputeMode, facts: Facts, **how: Any) -> Plan:
    box = box_for("upsweep", mode, facts, how.pop("tiles", None))
    return plan_upsweep(formula, bound_of(op, formula, facts), Line(length), mode, facts, replace(box, **how))


def prefix_plan(op: Any, formula: Formula, length: int, mode: ComputeMode, facts: Facts, **how: Any) -> Plan:
    has_queries = "queries" in how
    queries = how.pop("queries", length + 1)
    box = box_for("prefix", mode, facts)
    bound_operator = bound_of(op, formula, facts)
    requests = Queries(Line(queries), length + 1, has_queries, how.pop("whole", True))
    return plan_prefix(bound_operator, requests, mode, facts, box)


def series_plan(dtype: Any, terms: int, length: int, mode: ComputeMode, facts: Facts) -> Plan:
    return plan_power_series(np.dtype(dtype), terms, Line(length), mode, facts, box_for("power_series", mode, facts))


def recurrence_plan(
    name: str, length: int, mode: ComputeMode, facts: Facts, tiles: int | None = None, **how: Any
) -> Plan:
    """name: "linear 1" … "linear 4", "linear 1 steady" …, "maximum" or "moebius", with float32 vectors and one number
    before the line.
    """
    kind, order = name.split()[0], (name.split()[1:] or ["1"])[0]
    steady = "steady" in name
    fields = {"linear": [f"a{i + 1}" for i in range(int(order))] + ["b"], "moebius": list("abcd")}
    names = [*fields.get(kind, ["a", "b"]), *[f"s{i + 1}" for i in range(int(order))]]
    constant = ("s", "a") if steady else ("s",)
    inputs = ["f4" if not field.startswith(constant) else ("f4", Access.ARGUMENT) for field in names]
    formula = formula_of(lambda *values: dict(zip(names, values, strict=True)), *inputs)
    value, number = value_dtype(formula.outputs[0]), np.dtype("f4")
    bounds: dict[str, Callable[[], Any]] = {
        "linear": lambda: BoundLinear(int(order), value, number, steady),
        "moebius": lambda: BoundMoebius(value, number),
        "maximum": lambda: BoundTropical("maximum", value, number),
    }
    boxes = [box_for("recurrence" if mode is SEQUENTIAL else "scan", mode, facts, tiles), box_for("maps", mode, facts, tiles)]
    boxes[0] = replace(boxes[0], **how)
    return RecurrenceRequest(formula, Line(length), mode, boxes[0], bounds[kind](), boxes[1]).plan(facts)


def iterate_plan(
    function: Callable[..., Any], dtype: Any, length: int, starts: int, mode: ComputeMode, facts: Facts
) -> Plan:
    """Iterates of a function of one value, from a vector of starts."""
    before = symbol("before", np.dtype(dtype))
    step = Formula((), (as_value(function(before), "a test"),))
    start = formula_of(lambda x: x, dtype)
    parts = tuple(components(before).values())
    iteration = Iteration(length, output_dtype(start.outputs[0]), step, parts)
    return plan_iterate(start, iteration, Line(starts), mode, facts, box_for("iterate", mode, facts))


def _projection(b: Any, c: Any) -> Any:
    dot, square = cm.Reduce("sum")(b * c), cm.Reduce("sum")(c * c)
    return cm.where(square == 0, -1, c * dot / square), dot


def _running(x: Any) -> Any:
    total = cm.Scan("sum")(x)
    return total / cm.Reduce("maximum")(total), cm.Scan(SECOND, exclusive=True)(total * 2)


def _powers(x: Any) -> Any:
    power = cm.Unfold("product")(cm.Reduce("minimum")(x))
    return cm.Reduce("sum")(power * 2), power + x, cm.Reduce(SECOND)(x)


PROJECTION = _projection
PIPELINES = [("projection", _projection, ("f4", "f4")), ("running", _running, ("f4",)), ("powers", _powers, ("f4",))]


def every_plan(facts: Facts, mode: ComputeMode, length: int = 100_003) -> Iterator[tuple[str, Plan]]:
    """Every kernel template with several formulas and operators."""
    real = "f8" if facts.fp64 else "f4"
    maps = {
        "plain": formula_of(lambda x: x * 2 + 1, "f4"),
        "masks": formula_of(lambda x, y, b: cm.where((x > y) & b, x, cm.index.astype("f4")), "f4", "i2", "?"),
        "integers": formula_of(lambda n, m: (n // m, n % m, n << 1, n**m), "i4", "i4"),
        "functions": formula_of(lambda x: (cm.math.sin(x), cm.math.exp(x), cm.math.sqrt(x)), real),
        "complex": formula_of(lambda z: cm.math.exp(z * z) / (z + 1), "c16" if facts.fp64 else "c8"),
        "record": formula_of(lambda r: {"sum": r["a"] + r["b"].astype("f4")}, PAIR),
        "inputs": formula_of(
            lambda a, s, v, t: a * s + v * t,
            ("f4", Access.ARGUMENT), ("f4", Access.SINGLE), "f4", ("f4", Access.STRIDED, 2),
        ),
        "index": formula_of(lambda: cm.index * 3),
    }  # fmt: skip
    for name, formula in maps.items():
        yield f"map {name}", map_plan(formula, length, mode, facts, streaming=name == "plain")
    plain, whole, byte, flag = (formula_of(lambda x: x, code) for code in ("f4", "i4", "u1", "?"))
    pair, product = formula_of(lambda r: r, PAIR), formula_of(lambda x, y: x * y, "f4", "f4")
    cases: list[tuple[Any, Formula]] = [
        ("sum", plain), ("sum", product), ("product", whole), ("maximum", byte), ("any", plain), ("all", flag),
        ("argmin", plain), ("argmax", whole), ("logsumexp", plain), (MATRIX, pair), (SECOND, plain),
        ("mean", whole), ("std", plain), ("norm", plain),
    ]  # fmt: skip
    for op, formula in cases:
        name = f"{operator(op).name} of {output_dtype(formula.outputs[0]).name}"
        yield f"reduce {name}", reduce_plan(op, formula, length, mode, facts)
        yield f"reduce little {name}", reduce_plan(op, formula, 5, mode, facts)
        yield f"reduce for the host {name}", reduce_plan(op, formula, length, mode, facts, on_host=True)
        yield f"scan {name}", scan_plan(op, formula, length, mode, facts)
        if op not in ("argmin", "argmax"):
            yield f"scan exclusive {name}", scan_plan(op, formula, length, mode, facts, exclusive=True)
        yield from every_batch_plan(name, formula, bound_of(op, formula, facts), facts, mode)
        yield f"upsweep {name}", upsweep_plan(op, formula, length, mode, facts)
        yield f"prefix {name}", prefix_plan(op, formula, length, mode, facts)
        yield f"prefix queried {name}", prefix_plan(op, formula, length, mode, facts, queries=77, whole=False)
    base = formula_of(lambda x: x, ("f4", Access.ARGUMENT))
    for first in (0, 1):
        yield f"unfold product from {first}", unfold_plan("product", base, length, mode, facts, first_power=first)
    record = formula_of(lambda r: r, (PAIR, Access.SINGLE))
    yield "unfold affine", unfold_plan(MATRIX, record, length, mode, facts)
    for scope in Scope:
        for name, function, codes in PIPELINES:
            inputs = [code for code in codes if facts.fp64 or code != "f8"]
            yield f"pipeline {name} {scope.value}", pipeline_plan(function, length, mode, facts, scope, *inputs)
    rows = pipeline_plan(PROJECTION, 3, mode, facts, Scope.ITEM, "f4", ("f4", Access.LINE), rows=length)
    yield "pipeline of rows", rows
    longer = pipeline_plan(PROJECTION, 8, mode, facts, Scope.ITEM, "f4", ("f4", Access.LINE), rows=length)
    yield "pipeline of rows through local memory", longer
    if mode is PARALLEL:
        for columns in (length, length // 64 * 64):
            shared = pipeline_plan(PROJECTION, columns, mode, facts, Scope.DEVICE, "f4", ("f4", Access.LINE), rows=3)
            yield f"pipeline of shared rows of {columns}", shared
    yield "scan of a long line", scan_plan("sum", plain, 1 << 33, mode, facts)
    yield "power series", series_plan(real, 20, length, mode, facts)
    for name in ("linear 1", "linear 3", "linear 2 steady", "maximum", "moebius"):
        yield f"recurrence {name}", recurrence_plan(name, length, mode, facts)
        yield f"short recurrence {name}", recurrence_plan(name, 100, mode, facts)
    yield "iterates", iterate_plan(lambda a: 3.5 * a * (1 - a), "f4", 7, length, mode, facts)
    yield "iterates of records", iterate_plan(lambda r: {"a": r["a"] * 2, "b": r["b"] + 1}, PAIR, 7, 3, mode, facts)
    yield from every_series_plan(facts, mode, length)
    if mode is SEQUENTIAL:
        yield "map, strictly sequential", map_plan(maps["plain"], length, mode, facts, tiles=1)
        yield "reduce, strictly sequential", reduce_plan("sum", plain, length, mode, facts, tiles=1)
        yield "scan, strictly sequential", scan_plan("sum", plain, length, mode, facts, tiles=1)
        yield "upsweep, strictly sequential", upsweep_plan("sum", plain, 1000, mode, facts, tiles=1)
    yield from every_pair_plan(facts, mode)
    yield from every_segment_plan(facts, mode)
    yield from every_key_plan(facts, mode, length)
    yield from every_sort_plan(facts, mode, length)


def source_of(stage: Stage) -> str:
    """The complete OpenCL C of a stage's kernel."""
    return render(stage.spec.template, stage.spec.context())


# -------------------------------------------------------------------------------------------- index arithmetic, checked
class CheckedIndex:
    """An index as kernels compute it: of 32 or 64 bits, any overflow an error."""

    def __init__(self, value: int, bits: int) -> None:
        assert -(2 ** (bits - 1)) <= value < 2 ** (bits - 1), f"{value} leaves {bits} bits"
        self.value, self.bits = value, bits

    def _with(self, other: Any, operation: Callable[[int, int], int]) -> CheckedIndex:
        return CheckedIndex(operation(self.value, getattr(other, "value", other)), self.bits)

    def __add__(self, other: Any) -> CheckedIndex:
        return self._with(other, int.__add__)

    def __sub__(self, other: Any) -> CheckedIndex:
        return self._with(other, int.__sub__)

    def __mul__(self, other: Any) -> CheckedIndex:
        return self._with(other, int.__mul__)

    def __lt__(self, other: Any) -> bool:
        return self.value < getattr(other, "value", other)


_SHARE = re.compile(r"const idx (?:begin|first) = (.*?), (?:end|last) = (.*?);")


def share_of(source: str, group: int, length: int, share: int) -> tuple[int, int]:
    """[begin, end) of a group, computed as the kernel's own text says, in the kernel's own index type."""
    bits = 32 if "typedef int idx;" in source else 64
    match = _SHARE.search(source)
    assert match, source
    names: dict[str, Any] = {"n": CheckedIndex(length, bits), "share": CheckedIndex(share, bits), "g": CheckedIndex(group, bits)}
    names["min"] = lambda a, b: a if a < b else b
    texts = [text.replace("CMR_GROUP", "g").replace("(idx)(", "(") for text in match.groups()]
    assert all(re.fullmatch(r"[\w\s+\-*(),]*", text) for text in texts), texts
    begin = eval(texts[0], {"__builtins__": {}}, names)
    end = eval(texts[1], {"__builtins__": {}}, {**names, "begin": begin, "first": begin})
    return begin.value, end.value


def sizes(stage: Stage) -> list[int]:
    """The numbers among a stage's arguments."""
    return [argument[1] for argument in stage.arguments if not isinstance(argument, str)]


def assert_covered(stage: Stage) -> None:
    """Every index of the line lies in exactly one group's share, and no index arithmetic overflows on the way."""
    source = source_of(stage)
    length, share = sizes(stage)[-3:-1] if stage.whole else sizes(stage)[-2:]
    groups = (
        range(stage.groups) if stage.groups <= 300 else [0, 1, 2, stage.groups // 2, stage.groups - 2, stage.groups - 1]
    )
    shares = {g: share_of(source, g, length, share) for g in groups}
    assert shares[0][0] == 0
    assert shares[stage.groups - 1][1] == length
    for g, (begin, end) in shares.items():
        assert begin == g * share
        assert begin < end or length == 0
        assert end == begin + share or g == stage.groups - 1
