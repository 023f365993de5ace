"""The statements of kernels that search runs of keys."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.dtypes import c_name
from clmapreduce.formula.formula import Formula, Input, Place
from clmapreduce.formula.text.loads import in_parameters
from clmapreduce.formula.text.statements import Statements
from clmapreduce.schemes.common.outputs import OutputArray
from clmapreduce.schemes.segments.segment_kernel import Computed


@dataclass(frozen=True, eq=False)
class KeysText:
    """What is computed of keys of which `changes`, an int32, tells whether neighbours differ. last: runs keep their
    last key.
    """

    changes: Formula
    narrow: bool
    last: bool

    @property
    def key(self) -> Input:
        return self.changes.inputs[0]

    @property
    def key_type(self) -> str:
        """The C type of keys in memory."""
        return "uchar" if self.key.dtype.names else c_name(self.key.dtype)

    @property
    def key_parameters(self) -> list[str]:
        """The kernel's parameters for the keys, once and one element ahead."""
        return in_parameters(self.changes.inputs)

    def change(self, at: str, lanes: int = 1) -> Computed:
        """Whether the key at a place and the next one differ, not 0 if so; of several lanes for the next ones too."""
        block = Statements(lanes, self.narrow)
        return Computed.of(block, block.load(self.changes, at)[0])

    def key_at(self, at: str) -> Computed:
        """The key at a place."""
        block = Statements(1, self.narrow)
        block.read(self.key, Place(at), "key_")
        return Computed.of(block, self.key.value)

    def keys_in(self, name: str) -> OutputArray:
        """An output that holds keys."""
        return OutputArray(name, self.key.dtype)
