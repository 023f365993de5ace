"""The statements of kernels that look for runs among keys."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.formula.formula import Formula, Input, Place
from clmapreduce.formula.statements import Statements
from clmapreduce.schemes.common.kernel import store_text


@dataclass(frozen=True, eq=False)
class KeysText:
    """The statements for keys of which `changes`, an int32, tells whether neighbours differ. last: runs keep their last
    key.
    """

    changes: Formula
    narrow: bool
    last: bool

    @property
    def key(self) -> Input:
        return self.changes.inputs[0]

    def change(self, bits: str, at: str, place: object) -> str:
        """Sets a bit where the key at a place and the next one differ."""
        block = Statements(1, self.narrow)
        text = block.texts(block.load(self.changes, at)[0])[""]
        return "{\n" + "\n".join([str(block), f"{bits} |= (uint)({text} != 0) << {place};"]) + "\n}"

    def copy(self, output: int, to: str, at: str) -> str:
        """Stores the key at a place into an output."""
        block = Statements(1, self.narrow)
        block.read(self.key, Place(at), "key_")
        block.add(store_text(output, self.key.dtype, block.texts(self.key.value), to, 1, False))
        return "{\n" + str(block) + "\n}"
