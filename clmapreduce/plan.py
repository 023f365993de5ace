"""Plans: what will be launched, as frozen data. Nothing here runs.

A `Plan` is a list of `Stage`s over named arrays: "in0" … the inputs, "out0" … the outputs, "scratch…" what the plan
itself needs, and tables that come with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.domain.line import Window
from clmapreduce.dtypes import DType, Leaf, word_of
from clmapreduce.formula.content import HasContent
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.formula.node import Node
from clmapreduce.modes import ComputeMode, Scope

Size: TypeAlias = "tuple[str, int]"
"""A number among a kernel's arguments: ("idx", n) in the kernel's index type, ("int", n) always 32 bits wide."""

Arguments: TypeAlias = "tuple[str | Size, ...]"
"""A kernel's arguments in its order: names of arrays, and numbers."""

IN_FLIGHT = 2
"""Windows of host arrays that are on their way at a time."""

ROWS = "rows"
"""The argument by this name is the number of rows in a window of a batch."""


@dataclass(frozen=True)
class Facts:
    """What planning needs to know of a device; plain numbers, so that plans are tested without one. A field is one of
    `hostsched.DeviceFacts`, or of `hostsched.DriverTraits`, by the same name.
    """

    vocabulary: str
    kind: str
    compute_units: int
    max_group_size: int
    local_memory: int
    exchange_width: int
    fp64: bool
    lends_memory: bool
    matrix_units: bool = False
    sound_groups: bool = True
    register_fragments: bool = False
    limits_registers: bool = False
    groups_may_return: bool = False
    groups_progress: bool = False
    device_fences: bool = False
    halves_wide_calls: bool = False
    vectors_of_half: bool = True
    fp16: bool = True
    quick_functions: bool = False

    @property
    def computes_halves(self) -> bool:
        """Whether formulas of float16 compute in it. Elsewhere they read and store its bits and compute in float32.
        Without vectors of float16, which NVIDIA's compiler does not build, maps took three to four times as long.
        """
        return self.fp16 and self.vectors_of_half


_BYTES = {"char": 1, "uchar": 1, "half": 2, "short": 2, "ushort": 2, "int": 4, "uint": 4, "float": 4}


@dataclass(frozen=True)
class LocalArray:
    """An array in local memory: `count` values of a C type. aligned: to 16 bytes."""

    name: str
    ctype: str
    count: int
    aligned: bool = False

    @property
    def nbytes(self) -> int:
        """Its bytes, at most: an index may be a long."""
        kind = self.ctype.rstrip("0123456789")
        return _BYTES.get(kind, 8) * int(self.ctype[len(kind) :] or 1) * self.count


class KernelSpec(ABC):
    """A kernel's text, as a template's name and what the template sees, and options of the build. It can be hashed:
    equal specs render to equal text and have equal options.
    """

    @property
    @abstractmethod
    def template(self) -> str:
        """The template's path below cl_templates."""

    @property
    def kernel(self) -> str:
        """The kernel's name in C."""
        return f"cmr_{self.template.rpartition('/')[2]}"

    @property
    @abstractmethod
    def registers(self) -> int:
        """Of an item at most; 0: as many as it takes."""

    @property
    def options(self) -> tuple[str, ...]:
        """Options of the build."""
        return (f"-cl-nv-maxrregcount={self.registers}",) if self.registers else ()

    @property
    @abstractmethod
    def narrow(self) -> bool:
        """Whether indices are ints."""

    @property
    @abstractmethod
    def local_arrays(self) -> tuple[LocalArray, ...]:
        """What the text declares in local memory."""

    @abstractmethod
    def context(self) -> Mapping[str, Any]:
        """What the template sees, by name."""

    @property
    def local_bytes(self) -> int:
        """Bytes of local memory: drivers may end the process where there are too many."""
        return sum(array.nbytes for array in self.local_arrays)


@dataclass(frozen=True)
class Stage:
    """One launch: `groups` groups of `group_size`; arguments are array names and sizes in the kernel's order.

    share: the indices (rows) of a group, where the launch goes window by window; 0 where it does not. local: arrays of
    which a group reads and writes what belongs to its own window, or is passed on to the next one. redo: an array in
    which an earlier launch marks what it gave up; where nothing is marked, this launch is not needed. whole: it is
    never cut into pieces.
    """

    spec: KernelSpec
    groups: int
    group_size: int
    arguments: Arguments
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    share: int = 0
    local: tuple[str, ...] = ()
    redo: str = ""
    whole: bool = False


def where_marked(stages: Iterable[Stage], redo: str) -> list[Stage]:
    """Stages that are needed only for what an array marks."""
    return [replace(stage, redo=redo) for stage in stages]


@dataclass(frozen=True)
class Plan:
    """Stages in order, the bytes of scratch they need by name, and what `explain` tells. tables: by name. window: where
    stages go window by window. stored: arrays between stages that are too long for scratch then, as bytes per index.
    lean: a plan of the same results with less scratch, for where this one's has no room.
    """

    stages: tuple[Stage, ...]
    scratch: Mapping[str, int]
    mode: ComputeMode
    scope: Scope
    narrow: bool
    why: str
    finish_on_host: bool = False
    tables: Mapping[str, LaunchTable] = field(default_factory=dict)
    window: Window | None = None
    stored: Mapping[str, int] = field(default_factory=dict)
    lean: Plan | None = None

    def windowed(self, stages: Iterable[int]) -> tuple[str, ...]:
        """The arrays of which some stages, by number, see a window."""
        names = self.window.names if self.window is not None else ()
        used = {name for n in stages for name in (*self.stages[n].reads, *self.stages[n].writes)}
        return tuple(name for name in names if name in used)

    def is_shared(self, stages: Sequence[int]) -> bool:
        """Whether several devices may share the windows of some stages, by number: no window waits for another, and
        what a stage leaves beside windows is as much for every group.
        """
        windows = self.window.names if self.window is not None else ()
        return all(
            name in windows or (name in self.scratch and self.scratch[name] % self.stages[n].groups == 0)
            for n in stages for name in self.stages[n].writes
        ) and all(set(self.stages[n].local) <= {*windows} for n in stages)  # fmt: skip

    @property
    def passes(self) -> tuple[tuple[int, ...], ...]:
        """The stages, by number, that go over the windows together, window by window; a stage that does not go by
        windows stands alone. A stage joins those before it unless it reads what only their last window completes.
        """
        passes: list[list[int]] = []
        outputs: set[str] = set()
        for number, stage in enumerate(self.stages):
            joins = passes and stage.share and self.stages[passes[-1][0]].share
            if joins and not outputs & (set(stage.reads) - set(stage.local)):
                passes[-1].append(number)
                outputs.update(stage.writes)
            else:
                passes.append([number])
                outputs = set(stage.writes)
        return tuple(map(tuple, passes))


@dataclass(frozen=True, eq=False)
class Epilogue(HasContent):
    """What becomes of a stage's result before it is stored: a formula of the result's parts (`results`, by name) and of
    inputs of its own, at the same index.
    """

    formula: Formula
    results: Mapping[Leaf, Node]


@dataclass(frozen=True, eq=False)
class Layout:
    """A formula, and where its values, or what a tail makes of them, go.

    outputs: dtypes. names: the arrays' names in the plan, one per output. streaming: whether every output's address
    suits streaming stores. windows: the outputs, by number, of which the array holds a window.
    """

    formula: Formula
    outputs: tuple[DType, ...]
    streaming: bool = True
    names: tuple[str, ...] = ()
    tail: Epilogue | None = None
    windows: tuple[int, ...] = ()

    def within(self, window: Window | None) -> Layout:
        """The layout for arrays that hold one window of the line."""
        if window is None:
            return self
        names, tail = window.names, self.tail
        if tail is not None:
            tail = replace(tail, formula=tail.formula.windowed(names))
        windows = tuple(i for i, name in enumerate(self.targets) if name in names)
        return replace(self, formula=self.formula.windowed(names), tail=tail, windows=windows)

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the outputs: as given, else out0, out1, …"""
        return self.names or tuple(f"out{i}" for i in range(len(self.outputs)))

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What the formula and the tail read, each array once."""
        read = [*self.formula.inputs, *(self.tail.formula.inputs if self.tail is not None else ())]
        return tuple({operand.name: operand for operand in read}.values())

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(operand.name for operand in self.inputs)

    @property
    def widest(self) -> int:
        """Bytes of the widest number computed with or stored."""
        tail = self.tail.formula.widest if self.tail is not None else 1
        return max([self.formula.widest, tail, *(word_of(dtype).itemsize for dtype in self.outputs)])
