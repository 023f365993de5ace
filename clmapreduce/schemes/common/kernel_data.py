"""Kernels as data: the fields that a template sees are the key of its kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

from clmapreduce.formula.content import Content, contents
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, KernelSpec, LocalArray


class Target(NamedTuple):
    """What a kernel is written for: all that its text depends on of the device, and how wide indices are.

    vocabulary, halved: as in `Facts`. subgroup: how many work-items pass registers to each other. narrow: indices are
    ints. streaming: stores go past the caches, where CPUs have words for that. registers: of an item at most, where
    compilers take a limit; 0: as many as they like. gates: of more arrays, `gate0` and so on, a place, and whether
    the number there must be other than 0, or must be 0. Else groups have no work, and end at once where the vendor
    allows it.
    per_row: of a launch over several rows, the arrays that are moved to a group's row, each with its elements of a row
    as C text.
    """

    mode: ComputeMode
    vocabulary: str
    cpu: bool
    halved: bool
    subgroup: int
    narrow: bool
    streaming: bool = False
    registers: int = 0
    gates: tuple[tuple[int, bool], ...] = ()
    per_row: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls, mode: ComputeMode, facts: Facts, narrow: bool, streaming: bool = False, registers: int = 0
    ) -> Target:
        """The target on a device."""
        cpu = facts.kind == "cpu"
        return cls(
            mode, facts.vocabulary, cpu, facts.halves_wide_calls, subgroup(mode, facts), narrow, streaming and cpu,
            registers if facts.limits_registers else 0,
        )  # fmt: skip

    @property
    def words(self) -> dict[str, Any]:
        """What every template sees of it."""
        return {
            "compute_mode": self.mode.value, "vendor": self.vocabulary, "narrow": self.narrow, "cpu": self.cpu,
            "halved": self.halved, "streaming": self.streaming, "subgroup": self.subgroup,
            "registers": self.registers, "gates": self.gates,
            "per_row": self.per_row,
        }  # fmt: skip


def subgroup(mode: ComputeMode, facts: Facts) -> int:
    """How many work-items pass registers to each other."""
    return facts.exchange_width if mode is ComputeMode.PARALLEL else 1


@dataclass(frozen=True, eq=False)
class KernelText(KernelSpec):
    """A kernel's text. Its template sees the target's words, the fields, and public properties and methods; fields make
    the kernel's key, by content. A field that follows from others is `compare=False`.
    """

    target: Target
    template: ClassVar[str]

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        """The arrays that the template declares: in local memory, or private in the sequential mode."""
        return ()

    @property
    def registers(self) -> int:
        return self.target.registers

    @property
    def narrow(self) -> bool:
        return self.target.narrow

    @property
    def local_arrays(self) -> tuple[LocalArray, ...]:
        return () if self.target.mode is ComputeMode.SEQUENTIAL else self.arrays

    def context(self) -> Mapping[str, Any]:
        values = {name: getattr(self, name) for name in _template_names(type(self))}
        declared = {array.name: array for array in self.arrays}
        return {"name": self.template.rpartition("/")[2], "local_arrays": declared, **self.target.words, **values}

    @cached_property
    def _key(self) -> Content:
        return Content((type(self), *contents(self)))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, KernelText) and self._key == other._key)


@cache
def _template_names(kind: type[KernelText]) -> frozenset[str]:
    """The names of what a template sees beside the target's words: fields, and what subclasses define."""
    own = kind.__mro__[: kind.__mro__.index(KernelText)]
    named = {field.name for field in fields(kind)}.union(*map(vars, own)) - {"target", "template", "arrays", "context"}
    return frozenset(name for name in named if not name.startswith("_"))
