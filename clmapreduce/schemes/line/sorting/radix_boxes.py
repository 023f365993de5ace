"""Launch boxes of radix sorts: numbers only, by mode and kind of device."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts


@dataclass(frozen=True)
class RadixBox:
    """bits: of a digit, at most. block: work-items of a group. rows: keys of an item and tile. groups: per compute unit
    at most. tables: of counts of a group. gathers_from: bytes of keys from which on words of a digit wait until a line
    of the cache is full; 0: never. Lines take 2^bits × 128 bytes of an item's private memory, twice that with values.
    """

    bits: int
    block: int
    rows: int
    groups: int
    tables: int
    gathers_from: int = 0


# Processor time of a sort on 2 cores of an EPYC (L2 of 1 MiB each, L3 of 32 MiB, Intel's runtime, 2026-11-26), halved:
# 2^20 float32 took 1.85 ms by 11 bits, 2.52 by 8 and 2.50 with lines; 2^22 took 14.5, 11.0 and 11.0 by 11 bits with
# lines; 2^23 took 29.7, 26.0 and 20.5; 2^24 float64 by 11 bits with lines of 64, 128 and 256 bytes 138, 122 and 116.
_SEQUENTIAL = RadixBox(bits=11, block=1, rows=16384, groups=2, tables=2, gathers_from=3 << 22)
# An item's private memory is in caches on CPUs alone. Lines of 11 bits for keys and values take 512 KiB of it: an H100
# refused the launch (OUT_OF_RESOURCES, 2026-11-27).
_SEQUENTIAL_GPU = replace(_SEQUENTIAL, gathers_from=0)
_GPU = RadixBox(bits=8, block=256, rows=16, groups=4, tables=8)
_PARALLEL_CPU = RadixBox(bits=8, block=32, rows=4, groups=4, tables=2)


def radix_box(itemsize: int, mode: ComputeMode, facts: Facts) -> RadixBox:
    """The box for keys, and values beside them, of so many bytes together. On devices whose items exchange no registers
    every item counts for itself, and digits are shorter where local memory is.
    """
    if mode is ComputeMode.SEQUENTIAL:
        return _SEQUENTIAL if facts.kind == "cpu" else _SEQUENTIAL_GPU
    box = _PARALLEL_CPU if facts.kind == "cpu" else _GPU
    while box.block > facts.max_group_size:
        box = replace(box, block=box.block // 2)
    width = min(facts.exchange_width, box.block)
    box = replace(box, tables=box.block // width)
    while box.rows > 2 and box.block * box.rows * itemsize > facts.local_memory // 2:
        box = replace(box, rows=box.rows // 2)
    while box.bits > 2 and 4 * box.tables << box.bits > facts.local_memory // 4:
        box = replace(box, bits=box.bits // 2)
    return box
