"""Primitives joined: with >>, in traced functions, in batches, and compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from fuzz.case import Case, Shape
from fuzz.expressions import SYMBOLIC, Tree, drawn_tree, evaluate, expected, function_of, text_of
from fuzz.families.lines import drawn_dtype, plain
from fuzz.inputs import in_some_form, on_host, results
from fuzz.near import Near
from support.oracles import assert_same

import clmapreduce as cm

NAMES = ("sum", "sum", "minimum", "maximum")


def reduce_line(v: Any, name: str, how: str, fp64: bool) -> Any:
    """Along the last axis, which stays with length 1; integers in their own dtype."""
    if isinstance(v, Near):
        return v.reduce_line(name, how, fp64)
    if name == "sum":
        return v.sum(-1, keepdims=True, dtype=np.int64 if v.dtype.kind != "u" else np.uint64).astype(v.dtype)
    limits = np.iinfo(v.dtype) if v.dtype.kind in "iu" else None
    start = (limits.max if name == "minimum" else limits.min) if limits else name == "minimum"
    return getattr(np, name).reduce(v, -1, keepdims=True, initial=start)


def scan_line(v: Any, name: str, exclusive: bool) -> Any:
    if isinstance(v, Near):
        return v.scan_line(name, exclusive)
    prefixes = getattr(np, {"sum": "add"}.get(name, name)).accumulate(v, -1, dtype=v.dtype)
    if exclusive and v.shape[-1]:
        first = np.zeros_like(v[..., :1]) if name == "sum" else reduce_line(v[..., :0], name, "", True)
        prefixes = np.concatenate([np.broadcast_to(first, (*v.shape[:-1], 1)), prefixes], -1)[..., : v.shape[-1]]
    return prefixes


@dataclass(frozen=True)
class Step:
    """kind: "tree" "reduce" "scan" "index". of: the places of its operands."""

    kind: str
    of: tuple[int, ...] = ()
    tree: Tree = ()
    name: str = ""
    exclusive: bool = False

    def __str__(self) -> str:
        words = text_of(self.tree) if self.tree else f"{self.name}{', exclusive' if self.exclusive else ''}"
        return f"{self.kind}{list(self.of)}: {words}"


@dataclass(frozen=True)
class Program:
    """Steps on `vectors` and `numbers` (one per line), and the places of the results."""

    dtype: np.dtype[Any]
    vectors: int
    numbers: int
    steps: tuple[Step, ...]
    ends: tuple[int, ...]
    scalar: tuple[bool, ...]

    def function(self) -> Callable[..., Any]:
        names = ", ".join(f"x{k}" for k in range(self.vectors + self.numbers))
        call: Callable[..., Any] = eval(f"lambda {names}: run([{names}])", {"run": self._run})
        return call

    def _run(self, values: list[Any]) -> Any:
        for step in self.steps:
            operands = [values[k] for k in step.of]
            if step.kind == "tree":
                values.append(evaluate(step.tree, operands, SYMBOLIC))
            elif step.kind == "index":
                values.append(cm.index.astype(self.dtype))
            else:
                primitive: Any = cm.Reduce(step.name) if step.kind == "reduce" else cm.Scan(step.name, exclusive=step.exclusive)
                values.append(primitive(*operands).astype(self.dtype))
        ends = tuple(values[k] for k in self.ends)
        return ends if len(ends) > 1 else ends[0]

    def expected(self, arrays: Sequence[Any], length: int, how: str, fp64: bool) -> list[Any]:
        """What comes out. arrays: with the line as last axis, of length 1 for numbers."""
        values: list[Any] = [Near.of(a) if self.dtype.kind == "f" else a for a in arrays]
        for step in self.steps:
            operands = [values[k] for k in step.of]
            if step.kind == "tree":
                values.append(expected(step.tree, operands))
            elif step.kind == "index":
                place = np.arange(length).astype(self.dtype)
                values.append(Near.of(place) if self.dtype.kind == "f" else place)
            elif step.kind == "reduce":
                values.append(reduce_line(operands[0], step.name, how, fp64))
            else:
                values.append(scan_line(operands[0], step.name, step.exclusive))
        return [values[k] for k in self.ends]


def drawn_program(case: Case, dtype: np.dtype[Any]) -> Program:
    rng, vectors, numbers = case.rng, case.below(3, 1), case.below(2)
    scalar, exact = [False] * vectors + [True] * numbers, [True] * (vectors + numbers)
    steps: list[Step] = []
    for _ in range(case.below(6, 2)):
        lines = [k for k, s in enumerate(scalar) if not s]
        kind = case.one(["tree", "tree", "tree", "reduce", "reduce", "scan", "index"])
        if kind == "index":
            step, alone, sure = Step("index"), False, True
        elif kind == "tree":
            of = tuple(int(k) for k in rng.choice(len(scalar), min(len(scalar), case.below(4, 1)), replace=False))
            leaves = [k for k, place in enumerate(of) if exact[place]]
            tree = drawn_tree(rng, dtype.kind, len(of), 2, leaves)
            step, alone, sure = Step("tree", of, tree), all(scalar[of[k]] for k in _read(tree)), False
        else:
            of = (case.one(lines),)
            name = case.one(NAMES if dtype.kind != "f" or kind == "scan" else (*NAMES, "logsumexp"))
            step = Step(kind, of, (), name, kind == "scan" and case.chance(0.3))
            alone, sure = kind == "reduce", exact[of[0]] and name in ("minimum", "maximum")
        steps.append(step)
        scalar.append(alone)
        exact.append(sure)
    places = list(range(vectors + numbers, len(scalar)))
    ends = tuple({places[-1], case.one(places)} if case.chance(0.4) else {places[-1]})
    return Program(dtype, vectors, numbers, tuple(steps), ends, tuple(scalar))


def _read(tree: Tree) -> set[int]:
    if tree[0] == "x":
        return {tree[1]}
    return set() if tree[0] == "number" else set().union(*(_read(part) for part in tree[1:]))


def check(one: Any, reference: Any, shape: tuple[int, ...], alone: bool, dtype: np.dtype[Any]) -> None:
    """shape: of the lines. alone: whether there is one value per line."""
    if alone:
        shape = shape[:-1]
        parts = (reference.value, reference.far) if isinstance(reference, Near) else (reference,)
        parts = tuple(np.broadcast_to(p, (*shape, 1))[..., 0] for p in parts)
    else:
        parts = tuple(np.broadcast_to(p, shape) for p in ((reference.value, reference.far) if isinstance(reference, Near) else (reference,)))
    if len(parts) == 2:
        Near(*parts, dtype).check(one)
    else:
        assert_same(one, parts[0])


def pipelines(case: Case) -> Shape:
    """A random function of vectors; batches; compiled ones give the same bits."""
    dtype = drawn_dtype(case, "iuiffff")
    if dtype == np.float16:
        dtype = np.dtype("f4")
    program = drawn_program(case, dtype)
    batch, compiles = case.chance(0.35), case.chance(0.25)
    pipeline = cm.fuse(program.function(), batch=batch)
    accumulate = case.one(["auto", "auto", "auto", "fast", "compensated"])
    compile_length = case.length(3000, 1)

    def run(case: Case) -> None:
        length = compile_length if compiles and case.chance(0.9) else case.length(70_000 if not batch else 3000)
        rows: tuple[int, ...] = case.one([(1,), (2,), (3,), (17,), (2, 3), (64,)]) if batch else ()
        if batch and int(np.prod(rows)) * length > 60_000:
            rows = (2,)
        shapes: list[tuple[int, ...]] = [(*rows, length)] + [case.one([(*rows, length), (length,)]) if batch else (length,) for _ in range(program.vectors - 1)]
        several = batch and length != 1  # (*rows, 1) is a line of its own where lines have length 1
        shapes += [case.one([(*rows, 1), ()]) if several else () for _ in range(program.numbers)]
        xs = [plain(case, dtype, shape) for shape in shapes]
        arguments = [in_some_form(case, x, f"x{k}") for k, x in enumerate(xs)]
        how = {**case.how(tiles=True), "accumulate": accumulate}
        case.note(f"cm.fuse(…, batch={batch})(mode={how['mode']!r}): " + "; ".join(map(str, program.steps)) + f"; ends {program.ends}")
        outputs = results(case, lambda **k: pipeline(*arguments, **k), arguments, how)
        lines = [np.atleast_1d(x) if x.ndim else np.broadcast_to(x, (*rows, 1)) for x in xs]
        with np.errstate(all="ignore"):
            reference = program.expected(lines, length, accumulate, case.home.fp64)
        for one, exact, place in zip(outputs, reference, program.ends, strict=True):
            check(one, exact, (*rows, length), program.scalar[place], dtype)
        if compiles and length:
            more = {k: v for k, v in how.items() if k != "tiles"}
            tiles = {"tiles": how["tiles"]} if "tiles" in how else {}
            fast = pipeline.compile([x.shape for x in xs], dtype, batch=batch, **more, **tiles)
            again = fast(*(on_host(g) if x.ndim == 0 else g for g, x in zip(arguments, xs, strict=True)))
            for one, other in zip(outputs, again if isinstance(again, tuple) else (again,), strict=True):
                assert on_host(other).tobytes() == one.tobytes(), "the compiled pipeline gives other bits"

    return run


def chains(case: Case) -> Shape:
    """Map >> Scan >> Map >> Reduce, or some of these."""
    dtype = drawn_dtype(case, "iuffff")
    if dtype == np.float16:
        dtype = np.dtype("f4")
    count = case.below(4, 1)
    first, second = drawn_tree(case.rng, dtype.kind, count, 2), drawn_tree(case.rng, dtype.kind, 1, 2)
    parts: list[Any] = [cm.Map(function_of(first, count))]
    description = [f"Map({text_of(first)})"]
    scan = case.one([None, None, "sum", "minimum", "maximum"])
    reduction = case.one([None, *NAMES, "logsumexp"] if dtype.kind == "f" else [None, "sum", "minimum", "maximum"])
    again = case.chance(0.5)
    if scan:
        parts += [cm.Scan(scan), cm.Map(lambda x: x.astype(dtype))]
        description.append(f"Scan({scan!r})")
    if again:
        parts.append(cm.Map(function_of(second, 1)))
        description.append(f"Map({text_of(second)})")
    if reduction:
        parts.append(cm.Reduce(reduction))
        description.append(f"Reduce({reduction!r})")
    pipeline = parts[0]
    for part in parts[1:]:
        pipeline = pipeline >> part

    def run(case: Case) -> None:
        length = case.length(70_000)
        xs = [plain(case, dtype, length) for _ in range(count)]
        arguments = [in_some_form(case, x, f"x{k}") for k, x in enumerate(xs)]
        how = case.how(tiles=True)
        case.note(f"{' >> '.join(description)}, mode={how['mode']!r}")
        (result,) = results(case, lambda **k: pipeline(*arguments, **k), arguments, how)
        with np.errstate(all="ignore"):
            exact = expected(first, xs)
            exact = scan_line(exact, scan, False) if scan else exact
            exact = expected(second, [exact]) if again else exact
        if not reduction:
            return check(result, exact, (length,), False, dtype)
        if isinstance(exact, Near):
            return check(result, exact.reduce_line(reduction, "auto", case.home.fp64), (length,), True, dtype)
        exact = np.broadcast_to(exact, length)
        if reduction == "sum":
            sum_dtype = np.dtype("u8" if dtype.kind == "u" else "i8")
            return assert_same(result, exact.sum(dtype=sum_dtype))
        return assert_same(result, reduce_line(exact, reduction, "", True)[0])

    return run


FAMILIES = {"pipelines": pipelines, "chains": chains}
