"""Launch boxes: numbers only, by scheme and kind of device.

Each row was measured; docs/notes says where and what lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from clmapreduce.errors import DeviceMemoryError
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts

Limits: TypeAlias = "Mapping[str, tuple[int, int]]"
"""Numbers of a launch box, by name, from least to most."""


@dataclass(frozen=True)
class LaunchBox:
    """block: work-items per group. bytes: of one vector of the widest number. unroll: vectors per item, stream and
    step. streams: stretches a group reads side by side. groups: per compute unit at most. alone: one group computes
    lines up to this long, which takes less than a second launch; shorter ones, where an element takes several
    operations.
    """

    block: int
    bytes: int
    unroll: int
    streams: int = 1
    groups: int = 64
    alone: int = 0

    def lanes(self, itemsize: int, vectorisable: bool) -> int:
        """How many numbers of this size one vector holds."""
        return min(16, max(1, self.bytes // itemsize)) if vectorisable else 1

    @property
    def starts(self) -> tuple[LaunchBox, ...]:
        """More boxes from which tuning starts: one whose groups loop over tiles, where there is a group for each."""
        return () if self.groups < UNLIMITED else (replace(self, groups=LOOPING),)


UNLIMITED, LOOPING = 1 << 20, 16
"""Groups of a compute unit: as many as there are tiles, and so many that loop over them."""
_CPU = LaunchBox(block=1, bytes=64, unroll=4, alone=16384)
_CPU_FEW = replace(_CPU, groups=8)
"""Where groups take equally long, few of them leave less to start and to merge."""
_CPU_REDUCE = replace(_CPU_FEW, alone=1 << 18)
"""For 2^17 numbers, which are two operations each: one core reads 0.5 MB in about 8 us, and a second launch, with cores
that wake up, takes as long at least.
"""
_GPU = LaunchBox(block=256, bytes=16, unroll=4, groups=8)

_SEQUENTIAL = {
    "map": replace(_CPU, unroll=2, groups=16),
    "reduce": replace(_CPU_REDUCE, unroll=1, streams=2),
    "reduce2": replace(_CPU_REDUCE, unroll=1, streams=2),
    "extremum": replace(_CPU_REDUCE, unroll=1, streams=4),
    "locate": replace(_CPU_REDUCE, unroll=2, streams=2),
    "logsumexp": replace(_CPU_FEW, unroll=16),
    "pair": replace(_CPU, bytes=32, streams=2),
    "moments": replace(_CPU_REDUCE, unroll=4),
    "columns": replace(_CPU_FEW, unroll=8),
    "located_rows": replace(_CPU_FEW, bytes=32),
    "scan": _CPU_FEW,
    "recurrence": replace(_CPU, streams=8, groups=16),
    "maps": replace(_CPU, unroll=1, streams=4),
    "iterate": _CPU,
    "bases": _CPU,
    "runs": _CPU,
    "unfold": _CPU,
    "unfold_reduce": replace(_CPU, bytes=32, unroll=8),
    "upsweep": replace(_CPU, unroll=1024),
    "prefix": _CPU,
    "power_series": replace(_CPU, unroll=1),
    "series_function": replace(_CPU, unroll=1),
    "power_sum": replace(_CPU, unroll=1),
    "fused_group": replace(_CPU, unroll=1),
    "fused_few": replace(_CPU, unroll=1),
    "fused_small": replace(_CPU, unroll=1),
    "fused_teams": replace(_CPU, unroll=1),
    "fused_rows": replace(_CPU, unroll=1),
}
_PARALLEL_GPU = {
    "map": replace(_GPU, unroll=1, groups=UNLIMITED),
    "reduce": replace(_GPU, unroll=1, groups=6),
    "reduce2": replace(_GPU, unroll=1, groups=6),
    "extremum": replace(_GPU, unroll=1, groups=6),
    "locate": replace(_GPU, unroll=2, groups=4),
    "logsumexp": replace(_GPU, unroll=8, groups=4),
    "pair": replace(_GPU, groups=6),
    "moments": replace(_GPU, block=64, unroll=8, groups=4),
    "columns": _GPU,
    "scan": replace(_GPU, block=128, unroll=2),
    "maps": replace(_GPU, unroll=1, groups=6),
    "iterate": replace(_GPU, block=64, unroll=1, groups=UNLIMITED),
    "bases": replace(_GPU, block=512),
    "runs": replace(_GPU, block=128, groups=32),
    "unfold": replace(_GPU, groups=32),
    "unfold_reduce": replace(_GPU, groups=32),
    "upsweep": replace(_GPU, unroll=8),
    "prefix": replace(_GPU, groups=32),
    "power_series": replace(_GPU, unroll=1, groups=32),
    "series_function": replace(_GPU, block=64, unroll=1, groups=32),
    "power_sum": replace(_GPU, block=64, unroll=1, groups=32),
    "fused_group": replace(_GPU, unroll=1, groups=32),
    "fused_few": replace(_GPU, block=512, unroll=1, groups=32),
    "fused_small": replace(_GPU, block=32, unroll=1, groups=64),
    "fused_teams": replace(_GPU, unroll=1, groups=64),
    "fused_rows": replace(_GPU, block=128, unroll=1, groups=UNLIMITED),
}
_WAITING_GPU = {"scan": replace(_GPU, block=256, unroll=8)}
"""Where groups may wait for each other, and take a tile each."""
# On CPUs the parallel mode is there to be right, not fast; small groups keep PoCL's builds short.
_PARALLEL_CPU = {
    name: replace(box, block=32, unroll=min(box.unroll, 2), groups=min(box.groups, 64))
    for name, box in _PARALLEL_GPU.items()
}


class LineBoxes:
    """What tuning varies of the boxes above. Bytes beyond a register's make wrong code on PoCL 3.0. What a kernel does
    not read changes no launch and is not measured.
    """

    box_type: ClassVar[type[LaunchBox]] = LaunchBox
    limits: ClassVar[Mapping[ComputeMode, Limits]] = {
        ComputeMode.SEQUENTIAL: {
            "unroll": (1, 16), "streams": (1, 8), "bytes": (16, 64), "groups": (1, 256), "alone": (1 << 10, 1 << 18),
        },
        ComputeMode.PARALLEL: {"block": (32, 1024), "unroll": (1, 8), "bytes": (4, 16), "groups": (1, 64)},
    }  # fmt: skip


def launch_box(scheme: str, mode: ComputeMode, facts: Facts) -> LaunchBox:
    """The box for a scheme on a device; a group never exceeds what the device allows."""
    if mode is ComputeMode.SEQUENTIAL:
        box = _SEQUENTIAL[scheme]
        # Elsewhere this mode is only there to be right; few groups keep the chain of accumulators short.
        return box if facts.kind == "cpu" else replace(box, bytes=16, groups=2, alone=min(box.alone, _CPU.alone))
    box = (_PARALLEL_CPU if facts.kind == "cpu" else _PARALLEL_GPU)[scheme]
    if facts.kind != "cpu" and facts.groups_progress:
        box = _WAITING_GPU.get(scheme, box)
    while box.block > facts.max_group_size:
        box = replace(box, block=box.block // 2)
    return box


MOST_NUMBERS = 64
"""Numbers of all accumulators that an item holds at a time: more than that leave registers, and take compilers long."""


def within_registers(box: LaunchBox, numbers: int, itemsize: int) -> LaunchBox:
    """The box with fewer, then shorter vectors, where accumulators have so many numbers of a size."""
    while box.unroll > 1 and box.unroll * box.lanes(itemsize, True) * numbers > MOST_NUMBERS:
        box = replace(box, unroll=box.unroll // 2)
    while box.bytes > itemsize and box.lanes(itemsize, True) * numbers > MOST_NUMBERS:
        box = replace(box, bytes=box.bytes // 2)
    return box


def within_local_memory(box: LaunchBox, bytes_per_item: int, facts: Facts) -> LaunchBox:
    """The box with as many work-items as half the local memory serves; the other half lets a second group run beside.

    Raises DeviceMemoryError when all of it does not serve one.
    """
    while box.block > 1 and box.block * bytes_per_item > facts.local_memory // 2:
        box = replace(box, block=box.block // 2)
    if box.block * bytes_per_item > facts.local_memory:
        raise DeviceMemoryError(
            f"a work-item needs {bytes_per_item} bytes of local memory, the device has {facts.local_memory}; "
            "use mode='sequential', which needs none"
        )
    return box


def strictly_sequential(box: LaunchBox) -> LaunchBox:
    """One work-item, one lane, one tile over the whole length: the oracle for everything else."""
    return replace(box, bytes=0, streams=1, groups=0, unroll=1)
