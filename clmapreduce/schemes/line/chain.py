"""A pipeline over a long line: a chain of launches, cut only where something of the whole line is needed first.

Elementwise parts are computed inside the launches on either side, never stored. What is one value for the line is
computed once, in the last step of the reduce that completes it. A scan or an unfold is stored only when a later launch
needs it; one that ends the pipeline is not, nor is an unfold that is only reduced: it is reduced where it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.domain.line import Line
from clmapreduce.dtypes import DType, Leaf
from clmapreduce.formula.formula import Access, Formula, Input, symbol
from clmapreduce.formula.node import Apply, Node, Value, components, postorder, rebuild
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Epilogue, Facts, Layout, Plan, Stage
from clmapreduce.program.program import Program, needs, varies
from clmapreduce.program.step import Kind, Result, Step
from clmapreduce.reductions.around.together import BoundTogether
from clmapreduce.reductions.base import Bound
from clmapreduce.schemes.common.boxes import LaunchBox, launch_box, strictly_sequential
from clmapreduce.schemes.line.map import plan_map
from clmapreduce.schemes.line.reduce import box_name, plan_reduce
from clmapreduce.schemes.line.scans.scan import Prefixes, plan_scan
from clmapreduce.schemes.line.scans.upsweep import plan_upsweep
from clmapreduce.schemes.line.unfold import Powers, Reduction, plan_unfold


@dataclass(eq=False)
class Link:
    """One launch (two where a second one merges accumulators): some reduces in one pass, or one other step, or a map.

    powers: the unfold whose elements are reduced where they are made; base: the layout of its base. ones: a map of what
    is one value for the line and depends on no step.
    """

    steps: tuple[Step, ...] = ()
    powers: Step | None = None
    ones: bool = False
    layout: Layout | None = None
    base: Layout | None = None
    bound: Bound | None = None

    @property
    def kind(self) -> Kind | None:
        """What the steps are; None for a map."""
        return self.steps[0].kind if self.steps else None

    @property
    def boxes(self) -> Sequence[str]:
        """The names of its launch boxes."""
        assert self.layout is not None
        if self.kind is None:
            return ("map",)
        if self.kind is Kind.SCAN:
            return "scan", box_name(self.steps[0].bound, self.layout.formula)
        if self.kind is Kind.PARTIALS:
            return ("upsweep",)
        if self.kind is not Kind.REDUCE:
            return ("unfold",)
        assert self.bound is not None
        return (box_name(self.bound, self.layout.formula) if self.powers is None else "unfold_reduce",)


@dataclass(frozen=True, eq=False)
class Stored:
    """An array between launches: its name, and what stands for its values where it is read."""

    variable: Input
    per_index: bool


@dataclass(eq=False)
class Chain:
    """The links of a program, without lengths. Made once per program, so that equal kernels are reused."""

    program: Program
    outputs: tuple[DType, ...]
    links: list[Link] = field(init=False)
    stored: dict[int, Stored] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.links = ordered(self.program)
        self._home = {id(step): q for q, link in enumerate(self.links) for step in link.steps}
        self._scalars: dict[int, list[tuple[Node, Input]]] = {}
        self._alive: list[Value] = []
        for q in reversed(range(len(self.links))):
            self._build(q, self.links[q])

    @property
    def launches(self) -> int:
        """How many launches a long line takes at most: one group may do a link alone, or merge at the end of one."""
        return sum(2 if link.kind in (Kind.REDUCE, Kind.SCAN) else 1 for link in self.links)

    @property
    def reduction(self) -> Link | None:
        """The only link, if it is a reduction, and what becomes of it is one output."""
        first, *others = self.links
        only = not others and first.kind is Kind.REDUCE and first.powers is None and len(self.outputs) == 1
        return first if only else None

    @property
    def stored_per_index(self) -> dict[str, int]:
        """The arrays between launches that are as long as the line: bytes per index, by name."""
        return {s.variable.name: s.variable.dtype.itemsize for s in self.stored.values() if s.per_index}

    # ------------------------------------------------------------------------------------------------ one link
    def _build(self, q: int, link: Link) -> None:
        own = self._outputs_of(q, link)
        if link.kind is None:
            link.layout = _layout(self._formula([self._rewritten(v, q, ()) for _, v, _ in own]), own)
        elif link.kind is Kind.REDUCE:
            self._build_reduce(q, link, own)
        elif link.kind is Kind.PARTIALS:
            link.bound = link.steps[0].bound
            link.layout = Layout(self._formula([self._rewritten(link.steps[0].value, q, ())]), (link.bound.layout,))
        else:
            link.layout = self._elements(q, link.steps[0], own)

    def _outputs_of(self, q: int, link: Link) -> list[tuple[str, Value, DType]]:
        """(name, value, dtype) of what a link stores: outputs of the program, and what later links need."""
        results = [(f"out{k}", v, d) for k, (v, d) in enumerate(zip(self.program.outputs, self.outputs, strict=True))]
        if link.kind is Kind.REDUCE:
            own = [(n, v, d) for n, v, d in results if not varies(v) and self._home_of(v) == q]
            return own + [(variable.name, node, variable.dtype) for node, variable in self._scalars.get(q, [])]
        if link.kind is Kind.PARTIALS:
            return []
        own = []
        if q == len(self.links) - 1 or link.ones:
            own = [(n, v, d) for n, v, d in results if varies(v) != link.ones and (varies(v) or self._home_of(v) < 0)]
        for step in link.steps:
            if id(step) in self.stored:
                variable = self.stored[id(step)].variable
                own.append((variable.name, step.result, variable.dtype))
        return own

    def _build_reduce(self, q: int, link: Link, own: Sequence[tuple[str, Value, DType]]) -> None:
        link.bound = _together(tuple(step.bound for step in link.steps))
        local = (*link.steps, *((link.powers,) if link.powers is not None else ()))
        element = (link.powers,) if link.powers is not None else ()
        formula = self._formula([self._rewritten(step.value, q, element) for step in link.steps])
        results = [r for step in link.steps for r in step.results.values()]
        names: list[Leaf] = (
            list(link.steps[0].results) if len(link.steps) == 1 else [f"p{i}" for i in range(len(results))]
        )
        tail = self._tail(q, own, local, dict(zip(names, results, strict=True)))
        link.layout = _layout(formula, own, tail)
        if link.powers is not None:
            link.base = Layout(self._formula([self._rewritten(link.powers.value, q, ())]), (link.powers.dtype,))

    def _elements(self, q: int, step: Step, own: Sequence[tuple[str, Value, DType]]) -> Layout:
        """The layout of a scan's or an unfold's elements."""
        formula = self._formula([self._rewritten(step.value, q, ())])
        return _layout(formula, own, self._tail(q, own, (step,), dict(step.results)))

    def _tail(
        self, q: int, own: Sequence[tuple[str, Value, DType]], local: tuple[Step, ...], results: Mapping[Leaf, Node]
    ) -> Epilogue | None:
        if len(own) == 1 and len(results) == len(components(own[0][1])):
            raw = components(own[0][1])
            if all(raw.get(name) is node for name, node in results.items()):
                return None  # the result itself
        return Epilogue(self._formula([self._rewritten(v, q, local) for _, v, _ in own]), results)

    # ---------------------------------------------------------------------------------------------- rewriting
    def _rewritten(self, value: Value, q: int, local: tuple[Step, ...]) -> Value:
        """A value as link q computes it: what other links give is read from arrays; `local` steps' results stay."""
        rewritten: dict[int, Node] = {}
        here = {id(step) for step in local}
        self._alive.append(value)

        def cut(node: Node) -> Node | None:
            if isinstance(node, Result) and id(node.step) in here:
                return node
            if isinstance(node, Result) and node.varies:
                return components(self._vector(node.step).value)[node.part]
            if not node.varies and 0 <= self._home_of(node) < q:
                return components(self._scalar(node).value)[""]
            return None

        def build(root: Node) -> Node:
            todo = [(root, False)]
            while todo:
                node, ready = todo.pop()
                if id(node) in rewritten:
                    continue
                replaced = cut(node)
                if replaced is not None:
                    rewritten[id(node)] = replaced
                elif not isinstance(node, Apply):
                    rewritten[id(node)] = node
                elif ready:
                    args = tuple(rewritten[id(arg)] for arg in node.args)
                    same = all(a is b for a, b in zip(args, node.args, strict=True))
                    rewritten[id(node)] = node if same else Apply(node.function, args, node.dtype, node.weak)
                else:
                    todo += [(node, True), *((arg, False) for arg in node.args)]
            return rewritten[id(root)]

        return rebuild({name: build(node) for name, node in components(value).items()})

    def _home_of(self, value: Value) -> int:
        """The last link whose results a value that is one for the line is made of; -1 for none."""
        return max((self._home[id(step)] for step in needs(list(components(value).values()))), default=-1)

    def _scalar(self, node: Node) -> Input:
        scalars = self._scalars.setdefault(self._home_of(node), [])
        for scalar, variable in scalars:
            if scalar is node:
                return variable
        name = f"scalar{sum(map(len, self._scalars.values()))}"
        variable = Input(name, node.dtype, symbol(name, node.dtype), Access.SINGLE)
        scalars.append((node, variable))
        self.stored[id(node)] = Stored(variable, False)
        return variable

    def _vector(self, step: Step) -> Input:
        if id(step) not in self.stored:
            name = f"vector{len(self.stored)}"
            self.stored[id(step)] = Stored(Input(name, step.dtype, symbol(name, step.dtype, True)), True)
        return self.stored[id(step)].variable

    def _formula(self, values: Sequence[Value]) -> Formula:
        inputs = [*self.program.inputs, *(stored.variable for stored in self.stored.values())]
        used = {id(node) for node in postorder([node for value in values for node in components(value).values()])}
        read = (v for v in inputs if any(id(node) in used for node in components(v.value).values()))
        return Formula(tuple(read), tuple(values))

    # ------------------------------------------------------------------------------------------------- lengths
    def boxes(self, mode: ComputeMode, facts: Facts) -> dict[str, LaunchBox]:
        """The default launch boxes, by name."""
        return {name: launch_box(name, mode, facts) for link in self.links for name in link.boxes}

    def plan(
        self, line: Line, mode: ComputeMode, facts: Facts, streaming: bool, strict: bool = False,
        boxes: Mapping[str, LaunchBox] = MappingProxyType({}),
    ) -> Plan:  # fmt: skip
        """The plan of the whole chain for one line. strict: each launch is one work-item, one value at a time. boxes:
        instead of the default ones of these names.
        """
        boxes = {**self.boxes(mode, facts), **boxes}
        if strict:
            boxes = {name: strictly_sequential(box) for name, box in boxes.items()}
        window, lengths = line.window, self.stored_per_index
        if window is not None:
            line = replace(line, window=replace(window, names=(*window.names, *lengths)))
        plans = [self._plan_link(link, line, mode, facts, streaming, boxes) for link in self.links]
        if len(plans) == 1:
            return plans[0]
        scratch = {s.variable.name: s.variable.dtype.itemsize for s in self.stored.values() if not s.per_index}
        if window is None:
            scratch |= {name: nbytes * line.length for name, nbytes in lengths.items()}
        stages: list[Stage] = []
        tables: dict[str, LaunchTable] = {}
        for q, plan in enumerate(plans):
            names = {name: f"{name}_{q}" for name in (*plan.scratch, *plan.tables)}
            scratch |= {names[name]: nbytes for name, nbytes in plan.scratch.items()}
            tables |= {names[name]: table for name, table in plan.tables.items()}
            stages += [_renamed(stage, names) for stage in plan.stages]
        why = f"a chain of {len(stages)} launches, cut where something of the whole line is needed first"
        narrow = all(plan.narrow for plan in plans)  # what is one value for the line may be computed in front, by ints
        stored = lengths if window is not None else {}
        return Plan(
            tuple(stages), scratch, mode, Scope.DEVICE, narrow, why, tables=tables, window=line.window, stored=stored
        )  # fmt: skip

    def _plan_link(
        self, link: Link, line: Line, mode: ComputeMode, facts: Facts, streaming: bool, boxes: Mapping[str, LaunchBox]
    ) -> Plan:
        def streamed(layout: Layout | None) -> Layout:
            assert layout is not None
            return replace(layout, streaming=streaming)

        box, *others = (boxes[name] for name in link.boxes)
        if link.kind is None:
            line = Line(1) if link.ones else line
            return plan_map(streamed(link.layout), line, mode, facts, box)
        if link.kind is Kind.SCAN:
            layout, step = streamed(link.layout), link.steps[0]
            assert step.narrow is not None
            prefixes = Prefixes(step.narrow, step.bound, step.exclusive)
            return plan_scan(layout, prefixes, line, mode, facts, box, *others)
        if link.kind is Kind.PARTIALS:
            assert link.layout is not None and link.bound is not None
            return plan_upsweep(link.layout.formula, link.bound, line, mode, facts, box)
        if link.kind is Kind.REDUCE and link.powers is None:
            assert link.layout is not None and link.bound is not None
            return plan_reduce(link.layout, link.bound, line, mode, facts, box)
        unfold = link.powers if link.powers is not None else link.steps[0]
        powers = Powers(unfold.bound, unfold.dtype)
        if link.kind is not Kind.REDUCE:
            return plan_unfold(streamed(link.layout), powers, line, mode, facts, box)
        assert link.layout is not None and link.bound is not None and link.base is not None
        reduction = Reduction(link.layout, link.bound, dict(unfold.results))
        return plan_unfold(link.base, powers, line, mode, facts, box, reduction)


def ordered(program: Program) -> list[Link]:
    """The steps of a program as links, in an order that is right: reduces as early and as many at once as can be."""
    pending = list(program.steps)
    ordered_ids: set[int] = set()
    links: list[Link] = []
    below = {id(step): list(needs(step.nodes)) for step in pending}
    used = {id(step) for step in needs([n for v in program.outputs for n in components(v).values()])}

    def ready(step: Step, but: Iterable[Step] = ()) -> bool:
        return all(id(operand) in ordered_ids or operand in but for operand in below[id(step)])

    def reduced_from(unfold: Step) -> tuple[Step, ...]:
        """The reduces that only wait for an unfold, and may meet its elements in any order."""
        waiting = (step for step in pending if step.kind is Kind.REDUCE and step.bound.commutative)
        return tuple(step for step in waiting if unfold in below[id(step)] and ready(step, [unfold]))

    def take(link: Link) -> None:
        links.append(link)
        for step in link.steps:
            ordered_ids.add(id(step))
            pending.remove(step)

    while pending:
        reduces = [step for step in pending if step.kind is Kind.REDUCE and ready(step)]
        if reduces:
            free = tuple(step for step in reduces if step.bound.commutative)
            take(Link(free or (reduces[0],)))
            continue
        unfolds = [step for step in pending if step.kind is Kind.UNFOLD and ready(step)]
        fused = [(u, reduced_from(u)) for u in unfolds]
        unfold, group = next(((u, g) for u, g in fused if g), (None, ()))
        if unfold is not None:
            take(Link(group, powers=unfold))
            if id(unfold) not in used and not any(unfold in below[id(step)] for step in pending):
                pending.remove(unfold)
            continue
        take(Link((next(step for step in pending if ready(step)),)))
    roots = [list(components(value).values()) for value in program.outputs]
    constant = any(not any(n.varies for n in nodes) and not list(needs(nodes)) for nodes in roots)
    carried = bool(links) and links[-1].kind in (Kind.SCAN, Kind.UNFOLD)
    last = any(n.varies for nodes in roots for n in nodes) and not carried
    return [*([Link(ones=True)] if constant else []), *links, *([Link()] if last else [])]


def _together(bounds: tuple[Bound, ...]) -> Bound:
    return bounds[0] if len(bounds) == 1 else BoundTogether(bounds)


def _layout(formula: Formula, own: Sequence[tuple[str, Value, DType]], tail: Epilogue | None = None) -> Layout:
    return Layout(formula, tuple(d for _, _, d in own), names=tuple(n for n, _, _ in own), tail=tail)


def _renamed(stage: Stage, names: Mapping[str, str]) -> Stage:
    def new(variable: str) -> str:
        return names.get(variable, variable)

    return replace(
        stage,
        arguments=tuple(new(a) if isinstance(a, str) else a for a in stage.arguments),
        reads=tuple(map(new, stage.reads)),
        writes=tuple(map(new, stage.writes)),
        local=tuple(map(new, stage.local)),
    )
