"""The text of a whole pipeline on one line: its phases, each a walk over the line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from clmapreduce.dtypes import DType, c_name
from clmapreduce.formula.content import HasContent
from clmapreduce.formula.formula import Access, Input, Place
from clmapreduce.formula.functions import cast
from clmapreduce.formula.guard import condition_of
from clmapreduce.formula.node import Node, Record, Value, components, postorder
from clmapreduce.formula.text.statements import Statements
from clmapreduce.plan import LocalArray
from clmapreduce.program.phases import Phase, constants, phases
from clmapreduce.program.program import Program, varies
from clmapreduce.program.step import Step
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.common.stores import guarded_text, store_text, store_value
from clmapreduce.schemes.line.walks import Kept, Manner, RowStore, Segment, VectorLoop, View, Walk

OWN_ELEMENTS = (Access.VECTOR, Access.STRIDED)
"""Accesses of inputs that have an element of their own for each one of every line."""
READ_IN_VECTORS = (Access.VECTOR, Access.ARGUMENT, Access.SINGLE, Access.ROW, Access.LINE)
"""Accesses of inputs that a vector along the line can read."""


class Fused(HasContent):
    """A program as the text of one kernel. Made once per program, so that equal kernels are reused."""

    def __init__(self, program: Program, outputs: Sequence[DType]) -> None:
        self.program = program
        self.outputs = tuple(outputs)
        self.phases = phases(program)
        self.names = {id(step): f"a{k}" for k, step in enumerate(program.steps)}
        self.scratch_names = {step: f"scratch_{name}" for step, name in self.names.items()}
        known = {id(node) for node in program.nodes}
        self.inputs = tuple(variable for variable in program.inputs if _reads(variable, known))

    @property
    def content_parts(self) -> tuple[Any, ...]:
        program = self.program
        return program.steps, program.inputs, program.outputs, self.outputs

    @property
    def dtypes(self) -> list[DType]:
        """Every dtype computed with."""
        return [*self.program.dtypes, *self.outputs]

    @property
    def vectorisable(self) -> bool:
        """Whether several lines may be walked side by side, one per lane."""
        plain = all(d.names is None and d.kind != "c" for d in (*self.dtypes, *(g.dtype for g in self.inputs)))
        return plain and all(variable.access is not Access.STRIDED for variable in self.inputs)

    @property
    def staged(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]] | None:
        """(name, C type) of the inputs and of the outputs that a group can copy through local memory, line by line: all
        of those with a number per element and line. None where they cannot be copied.
        """
        outputs = [(i, v) for i, v in enumerate(self.program.outputs) if varies(v)]
        plain = all(self.outputs[i].names is None and condition_of(value) is None for i, value in outputs)
        read = [variable for variable in self.inputs if variable.access is Access.VECTOR]
        if not plain or any(g.dtype.names is not None or g.access is Access.STRIDED for g in self.inputs):
            return None
        if any(g.shifted or g.access is Access.ACROSS for g in self.inputs):
            return None
        return [(g.name, c_name(g.dtype)) for g in read], [(f"out{i}", c_name(self.outputs[i])) for i, _ in outputs]

    def staged_bytes(self, length: int) -> int:
        """Local memory that the staged arrays of one line take."""
        read = [variable.dtype for variable in self.inputs if variable.access is Access.VECTOR]
        stored = [self.outputs[i] for i, value in enumerate(self.program.outputs) if varies(value)]
        return (length | 1) * sum(dtype.itemsize for dtype in (*read, *stored))

    def scratch(self, narrow: bool) -> list[tuple[OperatorText, str]]:
        """The operators whose accumulators a group exchanges, and the names of their local arrays."""
        return [(OperatorText(step.bound, narrow), self.scratch_names[id(step)]) for step in self.program.steps]

    def scratch_arrays(self, block: int) -> tuple[LocalArray, ...]:
        """Those arrays, for so many items."""
        arrays_of_steps = (accumulators(step.bound, block, self.scratch_names[id(step)]) for step in self.program.steps)
        return tuple(array for arrays in arrays_of_steps for array in arrays)

    def staged_arrays(self, block: int, length: int) -> tuple[LocalArray, ...]:
        """The arrays that hold so many staged lines. A pitch that is odd keeps items in banks of their own."""
        read, outputs = self.staged or ([], [])
        return tuple(LocalArray(f"staged_{name}", kind, block * (length | 1)) for name, kind in (*read, *outputs))

    @property
    def fits_vectors(self) -> bool:
        """Whether one line may be walked in vectors: no element needs those before it, and lanes may change places.
        Places of extrema gain nothing by it.
        """
        bounds = [step.bound for step in self.program.steps]
        steps_fit = all(bound.commutative and bound.vectorisable and not bound.locates for bound in bounds)
        read = all(operand.access in READ_IN_VECTORS for operand in self.inputs)
        return self.vectorisable and steps_fit and read and not self.carries

    @property
    def carries(self) -> bool:
        """Whether something runs along the line."""
        return any(phase.running for phase in self.phases)

    @property
    def reduces_in_any_order(self) -> bool:
        """Whether the program reduces, and no element needs those before it."""
        steps = self.program.steps
        return bool(steps) and not self.carries and all(step.bound.commutative for step in steps)

    @property
    def element_bytes(self) -> int:
        """Bytes of the elements at one index of a line."""
        return sum(variable.dtype.itemsize for variable in self.inputs if variable.access in OWN_ELEMENTS)

    @cached_property
    def read_again(self) -> list[Input]:
        """The inputs with elements of their own that more than one walk reads."""
        walks = [used(phase.roots(self.program)) for phase in self.phases]
        return [
            variable for variable in self.inputs
            if variable.access in OWN_ELEMENTS and sum(_reads(variable, walk) for walk in walks) > 1
        ]  # fmt: skip

    def view(self, lanes: int, manner: Manner) -> View:
        """The text of one line, or of `lanes` lines side by side."""
        outer = Statements(lanes, manner.narrow, "s", uniform=True)
        place = Place("0", "row_begin", "row", "n")
        for variable in self.inputs:
            if not varies(variable.value):
                outer.read(variable, place, "s_")
        before = outer.drained()
        kept = self._kept(manner) if manner.kept and self.read_again else None
        walks = tuple(
            _PhaseText(self, phase, f"p{p}_", outer, manner, kept).walk() for p, phase in enumerate(self.phases)
        )
        for i, value in enumerate(self.program.outputs):
            if not varies(value):
                store_value(outer, i, value, self.outputs[i], "row", False)
        return View(lanes, before, walks, outer.drained(), kept)

    def _kept(self, manner: Manner) -> Kept:
        block = Statements(1, manner.narrow, "k", uniform=True)
        names, arrays = {}, []
        for variable in self.read_again:
            block.read(variable, Place("i", "row_begin", "row", "n"), "k_")
            texts = block.texts(variable.value)
            for part, (leaf, node) in enumerate(components(variable.value).items()):
                names[node] = f"kept_{variable.name}_{part}"
                arrays.append((c_name(node.dtype), names[node], texts[leaf]))
        return Kept(names, block.drained(), tuple(arrays))


def used(roots: Sequence[Node]) -> set[int]:
    """The ids of all nodes that some nodes need, and of these."""
    return {id(node) for node in postorder(roots)}


def _reads(variable: Input, nodes: set[int]) -> bool:
    """Whether an input's symbols are among some nodes, by their ids."""
    return any(id(node) in nodes for node in components(variable.value).values())


class _PhaseText:
    """Writes one phase; what is one value for the line is computed in `outer`, before the loop. along: elements of a
    vector along the line, where `outer` has one lane.
    """

    def __init__(
        self, fused: Fused, phase: Phase, prefix: str, outer: Statements, manner: Manner, kept: Kept | None,
        along: int = 1,
    ) -> None:  # fmt: skip
        self._fused, self._phase, self._outer = fused, phase, outer
        self._manner, self._kept, self._along = manner, kept, along
        self._narrow, self._parallel = manner.narrow, manner.parallel
        self._block = Statements(max(along, outer.lanes), manner.narrow, prefix, uniform=along == 1)
        self._prefix = prefix
        self.sync = self._parallel and (bool(phase.running) or any(map(self._in_order, phase.reduces)))
        self._segments: list[Segment] = []

    def _in_order(self, step: Step) -> bool:
        """Whether a reduce goes turn by turn, because a group would mix up its values otherwise."""
        return self._parallel and not step.bound.commutative

    def walk(self) -> Walk:
        phase, fused, vectors = self._phase, self._fused, None
        self._bind()
        if self._manner.along > 1:
            prefix = f"{self._prefix}w"
            wide = _PhaseText(fused, phase, prefix, self._outer, self._manner, self._kept, self._manner.along)
            vectors = wide.vector_loop(self)
        declared = [self._outer.drained()]
        declared += [self._op(s).declare(self._acc(s), self._outer.lanes) for s in phase.steps]
        for step in phase.running:
            self._scan(step)
        for step in phase.reduces:
            self._reduce(step)
        self._store_outputs()
        combined = tuple(
            (self._op(s), self._acc(s), fused.scratch_names[id(s)]) for s in phase.reduces if not self._in_order(s)
        )
        for step in phase.reduces:
            finished = step.bound.finish(self._record(self._outer, self._acc(step), step))
            for part, node in components(finished).items():
                self._outer.bind(step.results[part], self._outer.text(node))
        return Walk("\n".join(declared), self.sync, tuple(self._segments), combined, self._outer.drained(), vectors)

    def vector_loop(self, whole: _PhaseText) -> VectorLoop:
        """The phase along vectors. whole: the same phase, which goes on with what is left."""
        phase = self._phase
        self._bind()
        before = [self._constants, *(self._op(step).declare(self._acc(step), self._along) for step in phase.reduces)]
        for step in phase.reduces:
            self._absorb(step, self._acc(step))
        self._store_outputs()
        accumulators = tuple((self._op(step), self._acc(step), whole._acc(step)) for step in phase.reduces)
        return VectorLoop(self._along, f"{self._prefix}end", "\n".join(before), tuple(self._segments), accumulators)

    # ---------------------------------------------------------------------------------------------- one part each
    def _bind(self) -> None:
        """Reads what the phase needs; values of the line become vectors before the loop."""
        roots = self._phase.roots(self._fused.program)
        for k, node in enumerate(constants(roots)):
            if self._along == 1:
                self._block.bind(node, self._outer.text(node))
            else:
                self._block.declare(node, f"{self._prefix}line{k}", self._outer.texts(node)[""])
        self._constants = self._block.drained()
        place = Place("i", "row_begin", "row", "n" if self._along == 1 else "")
        kept = self._kept.names if self._kept else {}
        needed = used(roots)
        for variable in self._fused.inputs:
            if not varies(variable.value) or not _reads(variable, needed):
                continue
            numbers = components(variable.value).values()
            if not kept.keys().isdisjoint(numbers):
                for node in numbers:
                    self._block.declare(node, f"{self._prefix}{kept[node]}", f"{kept[node]}[slot]")
            else:
                self._block.read(variable, place, self._prefix)
        self._block.place(postorder(roots), "i")

    def _scan(self, step: Step) -> None:
        """One turn of a scan; an unfold is a scan of its base."""
        self._turn(step)
        source = self._turn_names(step)[2 if step.exclusive else 3]
        result = step.bound.finish(self._record(self._block, source, step))
        for part, node in components(result).items():
            result = step.results[part]
            self._block.bind(result, self._block.text(cast(node, result.dtype)))

    def _turn(self, step: Step) -> None:
        op, names = self._op(step), self._turn_names(step)
        self._block.add(op.declare(names[1], self._block.lanes))
        self._absorb(step, names[1])
        self._flush()
        self._segments.append(Segment(scan=True, op=op, names=(*names, self._fused.scratch_names[id(step)])))

    def _turn_names(self, step: Step) -> tuple[str, str, str, str]:
        """carry, value, before and upto, as `scan_step` takes them."""
        acc = self._acc(step)
        return acc, f"{acc}_x", f"{acc}_before", f"{acc}_upto"

    def _reduce(self, step: Step) -> None:
        if self._in_order(step):
            self._turn(step)
        else:
            self._absorb(step, self._acc(step))

    def _absorb(self, step: Step, acc: str) -> None:
        record = self._record(self._block, acc, step)
        absorbed = step.bound.absorb(record, [step.value], [self._block.index("i")])
        targets = {f"{acc}_{name}": absorbed[name] for name in record}
        for node in targets.values():  # what live items need is computed before, by all
            self._block.texts(node)
        self._flush_before_live()
        self._block.assign(targets)
        self._flush(live=self.sync)

    def _store_outputs(self) -> None:
        for i in self._phase.outputs:
            self._store(i, self._fused.program.outputs[i])
        self._flush()

    def _store(self, output: int, value: Value) -> None:
        dtype = self._fused.outputs[output]
        texts, condition = self._block.texts(value), condition_of(value)
        lanes, store = self._block.lanes, None
        holds = "" if condition is None else self._block.text(condition).c
        self._flush_before_live()
        if holds:
            step = "n" if self._along == 1 else "1"
            places = [f"row_begin + {lane} * {step} + i" for lane in range(lanes)]
            self._block.add(guarded_text(output, dtype, texts, holds, places.__getitem__, lanes))
        elif lanes == self._along:
            self._block.add(store_text(output, dtype, texts, "(row_begin + i)", lanes, False))
        else:
            store = RowStore(output, c_name(dtype, lanes), f"{self._prefix}out{output}", texts[""])
        self._flush(live=self.sync, store=store)

    # --------------------------------------------------------------------------------------------------- helpers
    def _flush_before_live(self) -> None:
        """Ends a segment where the next statements are for live items alone."""
        if self.sync:
            self._flush()

    def _flush(self, live: bool = False, store: RowStore | None = None) -> None:
        text = self._block.drained()
        if text or store is not None:
            self._segments.append(Segment(text, live, store))

    def _op(self, step: Step) -> OperatorText:
        return OperatorText(step.bound, self._narrow)

    def _acc(self, step: Step) -> str:
        """A step's accumulator; a scan walked again in a later phase starts again."""
        return self._prefix + self._fused.names[id(step)]

    def _record(self, block: Statements, acc: str, step: Step) -> Record:
        return block.record(acc, {c.name: c.dtype for c in step.bound.components})
