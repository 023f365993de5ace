"""A breakdown for a terminal: at most 15 lines of 80 columns, the answer first."""

from __future__ import annotations

from clmapreduce.device.profiling.breakdown import Breakdown
from hostsched.kernels.build_record import COMPILED, DRIVERS, LOADED

MOST = 4
"""Kernels, and slow builds, that are named."""
BAR = 12
ORIGINS = {COMPILED: "from source", LOADED: "from disk", DRIVERS: "by the driver"}
ADVICE = {
    "compiling": "Later calls find the kernels, and later processes find them on disk.",
    "planning": "Calls with shapes seen before plan nothing; Pipeline.compile plans once.",
    "kernels": "The device is at work. cm.tune may find a faster launch.",
    "copies": "cm.array(x) keeps an array on the device, so that calls copy nothing.",
    "the rest": "Neither device nor compiler: Python, the driver, other work of the program.",
}
LATE = "This driver compiles when a kernel is first launched: profile it once more."


def lines(own: Breakdown) -> list[str]:
    """The breakdown of one device as text."""
    parts = own.parts
    largest = max(parts, key=lambda part: parts[part])
    result = [
        f"{seconds(own.wall)} on {own.device}, most of it {largest}",
        f"  {LATE if largest == 'the rest' and own.compiles_late else ADVICE[largest]}",
    ]
    details = {
        "compiling": ", ".join(f"{total.count} {ORIGINS[total.name]}" for total in own.by_origin),
        "planning": "",
        "kernels": _count(len(own.launches), "launch", "launches"),
        "copies": _copies(own),
        "the rest": _gaps(own),
    }
    for part, time in parts.items():
        share = time / own.wall if own.wall else 0.0
        bar = "█" * round(BAR * min(share, 1.0))
        result.append(f"  {part:<10}{seconds(time):>9}{share:>6.0%}  {bar:<{BAR}}  {details[part]}".rstrip())
    result += [
        f"  kernel  {total.name:<34}{seconds(total.seconds):>9}  {_count(total.count, 'launch', 'launches')}"
        for total in own.by_kernel[:MOST]
    ]
    slow = sorted(own.builds, key=lambda build: build.seconds, reverse=True)[:MOST]
    result += [f"  build   {build.name:<34}{seconds(build.seconds):>9}  {ORIGINS[build.origin]}" for build in slow]
    return result


def seconds(time: float) -> str:
    """A time in three digits: 12.3 ms."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if time >= size:
            return f"{time / size:.3g} {unit}" if time < 1000 * size else f"{time / size:.0f} {unit}"
    return f"{time * 1e9:.0f} ns" if time else "0 s"


def _count(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def _copies(own: Breakdown) -> str:
    if own.copies:
        count = _count(len(own.copies), "copy", "copies")
        return f"{count}, {own.nbytes / 1e6:.4g} MB, {own.bytes_per_second / 1e9:.3g} GB/s"
    return "none: arrays are used where they lie" if own.maps else ""


def _gaps(own: Breakdown) -> str:
    between = own.gaps
    if not between:
        return ""
    return f"{_count(len(between), 'gap', 'gaps')}, {seconds(sum(between))}; longest {seconds(between[0])}"
