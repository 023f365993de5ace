"""The base of kernels over a line: inputs that they read, results that they store."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import DType
from clmapreduce.formula.formula import Input
from clmapreduce.formula.text.loads import in_parameters
from clmapreduce.plan import Epilogue, Stage
from clmapreduce.schemes.common.kernel_data import KernelText
from clmapreduce.schemes.common.outputs import out_parameters
from clmapreduce.schemes.common.stores import Places, Store, stores


@dataclass(frozen=True, eq=False)
class LineText(KernelText):
    """outputs: dtypes of the results; none where accumulators are left. tail: what they go through. past_caches: how
    they are stored. windows: those, by number, of which the array holds a window.
    """

    outputs: tuple[DType, ...]
    tail: Epilogue | None
    past_caches: bool
    windows: tuple[int, ...] = field(default=(), kw_only=True)

    @property
    @abstractmethod
    def read(self) -> tuple[Input, ...]:
        """The inputs, each once."""

    @property
    def parameters(self) -> list[str]:
        return in_parameters(self.read) + out_parameters(self.outputs, self.windows)

    @property
    def places(self) -> Places:
        """Where results go."""
        return Places(self.windows, self.past_caches)

    @property
    def store(self) -> Store:
        return stores(self.outputs, self.tail, self.narrow, self.places)


def inputs_of(variable: tuple[Input, ...], tail: Epilogue | None) -> tuple[Input, ...]:
    """Some inputs and those of a tail, each array once."""
    read = [*variable, *(tail.formula.inputs if tail is not None else ())]
    return tuple({one.name: one for one in read}.values())


def in_windows(stage: Stage, line: Line, share: int, local: tuple[str, ...] = ()) -> Stage:
    """The launch as it goes over the windows of a line, if there are any. local: arrays of its own window beside those
    of the window's names.
    """
    if line.window is None:
        return stage
    return replace(stage, share=share, local=(*local, *line.window.names))
