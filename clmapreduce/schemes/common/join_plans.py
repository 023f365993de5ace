"""Several plans one after the other, as the launches of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.plan import Arguments, Plan, Stage


@dataclass(frozen=True)
class Passes:
    """Launches in order, and the arrays that they share or have for themselves."""

    stages: tuple[Stage, ...]
    scratch: dict[str, int]
    tables: dict[str, LaunchTable]


def shared_scratch(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """The arrays of launches that run one after the other, by name, in bytes: a name of both has the larger size."""
    return {**first, **{name: max(size, first.get(name, 0)) for name, size in second.items()}}


def joined(plans: Sequence[tuple[Plan, Mapping[str, str]]]) -> Passes:
    """Plans, each with new names of some of its arrays. Scratch serves one after the other; tables are a plan's own."""
    stages: list[Stage] = []
    scratch: dict[str, int] = {}
    tables: dict[str, LaunchTable] = {}
    for k, (plan, names) in enumerate(plans):
        own = {name: f"{name}_pass{k}" if k else name for name in plan.tables}
        stages += renamed_stages(plan, {**names, **own})
        tables |= {own[name]: table for name, table in plan.tables.items()}
        scratch = shared_scratch(scratch, plan.scratch)
    return Passes(tuple(stages), scratch, tables)


def renamed_stages(plan: Plan, names: Mapping[str, str]) -> list[Stage]:
    """A plan's launches with some of its arrays under other names."""

    def renamed(arrays: Iterable[str]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in arrays)

    return [
        replace(
            stage,
            arguments=tuple(names.get(a, a) if isinstance(a, str) else a for a in stage.arguments),
            reads=renamed(stage.reads),
            writes=renamed(stage.writes),
        )
        for stage in plan.stages
    ]


def with_strides(stages: Sequence[Stage], arrays: Mapping[str, Arguments]) -> tuple[Stage, ...]:
    """Launches that read what earlier ones of the same plan have made, as if it were an input. arrays: by name, the
    sizes and strides of a batch, which come with the call for other inputs.
    """
    return tuple(
        replace(stage, arguments=tuple(part for a in stage.arguments for part in (a, *_strides(a, arrays))))
        for stage in stages
    )


def _strides(argument: object, arrays: Mapping[str, Arguments]) -> Arguments:
    return arrays.get(argument, ()) if isinstance(argument, str) else ()
