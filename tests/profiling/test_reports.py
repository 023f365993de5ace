"""Reports of made-up commands, whose parts are known to the nanosecond."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from clmapreduce.device.profiling.breakdown import PARTS, Breakdown
from clmapreduce.device.profiling.intervals import gaps, length, union
from clmapreduce.device.profiling.text import ADVICE, LATE, lines, seconds
from hostsched import BuildRecord, Record
from hostsched.kernels.build_record import COMPILED, DRIVERS, LOADED

MS = 1_000_000


def command(label: str, start: int, end: int, nbytes: int | None = None) -> Record:
    """One that ran from `start` to `end`, in milliseconds."""
    return Record(label, start * MS, start * MS, start * MS, end * MS, nbytes)


WORK = [
    command("write", 0, 10, 40_000_000),
    command("cmr_map", 10, 40),
    command("read", 30, 50, 80_000_000),  # 10 ms beside the kernel
    command("cmr_map", 60, 70),
    command("cmr_reduce", 70, 75),
    command("marker", 75, 75),
    command("map", 80, 80, 4_000_000_000),
]
BUILDS = [BuildRecord("cmr_map", COMPILED, 0.0, 0.2), BuildRecord("cmr_reduce", LOADED, 0.2, 0.01)]


def test_parts_of_known_work() -> None:
    own = Breakdown("a device", 0.4, WORK, BUILDS, planned=0.23)
    assert own.parts == pytest.approx(
        {"compiling": 0.21, "planning": 0.02, "kernels": 0.045, "copies": 0.02, "the rest": 0.105}
    )
    assert own.nbytes == 120_000_000 and own.bytes_per_second == pytest.approx(4e9) and own.maps == 1
    assert own.gaps == pytest.approx([0.01]) and not own.compiles_late
    assert [(total.name, total.count) for total in own.by_kernel] == [("cmr_map", 2), ("cmr_reduce", 1)]
    assert [total.seconds for total in own.by_kernel] == pytest.approx([0.04, 0.005])


def test_parts_are_the_wall_time_whatever_runs_side_by_side() -> None:
    """Two threads compile for 250 ms, 150 of them together; kernels and copies run for 65 ms in that time."""
    builds = [BuildRecord("cmr_map", COMPILED, 1.0, 0.2), BuildRecord("cmr_reduce", COMPILED, 1.05, 0.2)]
    own = Breakdown("a device", 0.3, WORK, builds, planned=0.26)
    assert own.parts["compiling"] == pytest.approx(0.235) and sum(own.parts.values()) == pytest.approx(0.3)
    assert own.parts["planning"] == own.parts["the rest"] == 0
    longer = Breakdown("a device", 0.4, WORK, builds, planned=0.26)
    assert longer.parts == pytest.approx(
        {"compiling": 0.25, "planning": 0.01, "kernels": 0.045, "copies": 0.02, "the rest": 0.075}
    )


def test_the_text_says_all_of_it() -> None:
    text = lines(Breakdown("a device", 0.4, WORK, BUILDS, planned=0.23))
    assert text == [
        "400 ms on a device, most of it compiling",
        f"  {ADVICE['compiling']}",
        "  compiling    210 ms   52%  ██████        1 from source, 1 from disk",
        "  planning      20 ms    5%  █",
        "  kernels       45 ms   11%  █             3 launches",
        "  copies        20 ms    5%  █             2 copies, 120 MB, 4 GB/s",
        "  the rest     105 ms   26%  ███           1 gap, 10 ms; longest 10 ms",
        "  kernel  cmr_map                               40 ms  2 launches",
        "  kernel  cmr_reduce                             5 ms  1 launch",
        "  build   cmr_map                              200 ms  from source",
        "  build   cmr_reduce                            10 ms  from disk",
    ]


@pytest.mark.parametrize("part", PARTS)
def test_the_largest_part_decides_the_advice(part: str) -> None:
    builds = [BuildRecord("cmr_map", COMPILED, 0.0, 9.0)] if part == "compiling" else []
    commands = {"kernels": [command("cmr_map", 0, 9000)], "copies": [command("read", 0, 9000, 8)]}.get(part, [])
    text = lines(Breakdown("a device", 10.0, commands, builds, planned=9.0 if part in ("planning", "compiling") else 0.0))
    assert text[0].endswith(f"most of it {part}") and text[1].strip() == ADVICE[part]


def test_a_driver_that_compiles_late_is_named() -> None:
    own = Breakdown("a device", 10.0, [], [BuildRecord("cmr_map", DRIVERS, 0.0, 1.0)], planned=1.0)
    assert lines(own)[1].strip() == LATE


def test_long_reports_fit_a_terminal() -> None:
    commands = [command(f"cmr_kernel_with_a_long_name_{n}", n, n + 1) for n in range(30)]
    builds = [BuildRecord(f"cmr_kernel_{n}", COMPILED, 0.0, 1e-3 * n) for n in range(30)]
    text = lines(Breakdown("a device", 10.0, commands, builds, planned=1.0))
    assert len(text) == 15 and max(map(len, text)) <= 80
    assert all(len(line) <= 78 for line in [*ADVICE.values(), LATE])


def test_no_time_at_all() -> None:
    assert lines(Breakdown("a device", 0.0, [], [], 0.0))[0].startswith("0 s on a device")


@pytest.mark.parametrize("count", [0, 1, 2, 31, 33])
def test_intervals_against_a_painted_line(count: int, rng: np.random.Generator) -> None:
    begins = rng.integers(0, 300, count)
    intervals = [(int(begin), int(begin + width)) for begin, width in zip(begins, rng.integers(0, 12, count), strict=True)]
    painted = np.zeros(400, bool)
    for begin, end in intervals:
        painted[begin:end] = True
    covered = union(intervals)
    assert length(covered) == painted.sum()
    inside = np.flatnonzero(painted)
    between = inside[-1] + 1 - inside[0] - inside.size if inside.size else 0
    assert length(gaps(covered)) == between
    assert all(before[1] < after[0] for before, after in pairwise(covered))


@pytest.mark.parametrize(
    ("time", "text"),
    [(0.0, "0 s"), (5e-9, "5 ns"), (1.5e-6, "1.5 us"), (0.0123, "12.3 ms"), (0.9994, "999 ms"), (61.0, "61 s"), (4000.0, "4000 s")],
)  # fmt: skip
def test_times_have_three_digits(time: float, text: str) -> None:
    assert seconds(time) == text
