"""What kernels over a line have in common: inputs that they read, results that they store."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from clmapreduce.dtypes import DType
from clmapreduce.formula.formula import Input, in_parameters
from clmapreduce.plan import Epilogue
from clmapreduce.schemes.common.kernel import Store, out_parameters, stores
from clmapreduce.schemes.common.kernel_data import KernelText


@dataclass(frozen=True, eq=False)
class LineText(KernelText):
    """outputs: dtypes of the results; none where accumulators are left. tail: what they go through. past_caches: how
    they are stored.
    """

    outputs: tuple[DType, ...]
    tail: Epilogue | None
    past_caches: bool

    @property
    @abstractmethod
    def read(self) -> tuple[Input, ...]:
        """The inputs, each once."""

    @property
    def parameters(self) -> list[str]:
        return in_parameters(self.read) + out_parameters(self.outputs)

    @property
    def store(self) -> Store:
        return stores(self.outputs, self.tail, self.narrow, self.past_caches)


def inputs_of(given: tuple[Input, ...], tail: Epilogue | None) -> tuple[Input, ...]:
    """Some inputs and those of a tail, each array once."""
    read = [*given, *(tail.formula.inputs if tail is not None else ())]
    return tuple({one.name: one for one in read}.values())
