"""Launch boxes: legal on every device, and strictly sequential on request."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.plans import FACTS, INTEL, MODES, PARALLEL, SEQUENTIAL

from clmapreduce.dtypes import LANES
from clmapreduce.errors import DeviceMemoryError
from clmapreduce.schemes.common.boxes import LaunchBox, launch_box, strictly_sequential, within_local_memory
from clmapreduce.schemes.pairs.boxes import PairWork, clustered, few_box, ordering, pair_box

SCHEMES = (
    "map", "reduce", "reduce2", "extremum", "locate", "logsumexp", "scan", "unfold", "unfold_reduce", "upsweep", "prefix",
    "power_series", "fused_group", "fused_few", "fused_small", "fused_teams", "fused_rows",
)  # fmt: skip


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_has_a_legal_box_everywhere(scheme: str) -> None:
    for facts in FACTS.values():
        for mode in MODES:
            box = launch_box(scheme, mode, facts)
            assert 1 <= box.block <= facts.max_group_size
            assert (box.block == 1) == (mode is SEQUENTIAL)
            for number in (box.block, box.unroll, box.streams, box.bytes):
                assert number > 0 and number & (number - 1) == 0, "trees and vectors need powers of two"
            assert box.groups > 0


def test_groups_shrink_to_what_a_device_allows() -> None:
    for limit in (1, 2, 100, 128):
        assert launch_box("reduce", PARALLEL, replace(FACTS["nvidia"], max_group_size=limit)).block <= limit


def test_lanes_are_vector_widths_of_opencl() -> None:
    for bytes_ in (0, 8, 16, 32, 64, 128):
        for itemsize in (1, 2, 4, 8, 16):
            box = LaunchBox(1, bytes_, 1)
            assert box.lanes(itemsize, True) in LANES
            assert box.lanes(itemsize, True) * itemsize <= max(bytes_, itemsize)
            assert box.lanes(itemsize, False) == 1


def test_strictly_sequential_is_one_of_everything() -> None:
    for scheme in SCHEMES:
        box = strictly_sequential(launch_box(scheme, SEQUENTIAL, INTEL))
        assert (box.block, box.unroll, box.streams, box.groups) == (1, 1, 1, 0)
        assert box.lanes(1, True) == 1


def test_groups_leave_half_of_local_memory_to_another() -> None:
    box = launch_box("reduce", PARALLEL, FACTS["nvidia"])
    assert within_local_memory(box, 8, FACTS["nvidia"]) == box
    small = replace(FACTS["nvidia"], local_memory=4096)
    assert within_local_memory(box, 100, small).block * 100 <= 2048
    assert within_local_memory(box, 3000, small).block == 1, "all of it serves one"
    with pytest.raises(DeviceMemoryError, match="a work-item needs 5000 bytes of local memory, the device has 4096"):
        within_local_memory(box, 5000, small)


def test_groups_are_no_larger_than_clusters_are_worth() -> None:
    for name, facts in FACTS.items():
        for mode in MODES:
            box = pair_box(PairWork("sum", 3, 2, 8, False), 10**6, 10**6, mode, facts)
            rows = [box.block * box.vectors * box.lanes(4)]
            for cluster in (10**9, 2000, 250, 100, 9, 1):
                small = clustered(box, cluster, 4)
                rows.append(small.block * small.vectors * small.lanes(4))
                assert small.block & (small.block - 1) == 0 and small.block <= box.block, name
                assert rows[-1] <= max(32, 2 * cluster) or mode is SEQUENTIAL
            assert rows == sorted(rows, reverse=True) and rows[0] == rows[1]


def test_many_terms_and_sums_leave_registers_for_more_groups() -> None:
    shapes = {(11, 2): (256, 8), (12, 2): (128, 4), (32, 2): (128, 4), (33, 2): (128, 1), (3, 8): (256, 8), (3, 16): (128, 4)}
    for (terms, sums), shape in shapes.items():
        box = pair_box(PairWork("sum", terms, sums, 8, False), 10**6, 10**6, PARALLEL, FACTS["nvidia"])
        assert (box.block, box.vectors) == shape, (terms, sums)


@pytest.mark.parametrize(
    ("stored_bytes", "itemsize", "bytes_"),
    [(40, 4, 64), (200, 4, 64), (240, 4, 32), (1440, 4, 32), (1600, 4, 16), (10**5, 4, 4), (80, 8, 64), (480, 8, 32), (10**5, 8, 8), (400, 2, 32), (10**5, 2, 2)],
)  # fmt: skip
def test_vectors_are_shorter_where_much_is_put_in_order(stored_bytes: int, itemsize: int, bytes_: int) -> None:
    """10, 50 and 60 numbers of 4 bytes, 360 and 400 of them; and others."""
    first = pair_box(PairWork("kmin", 3, 2, 8, False), 10**4, 10**4, SEQUENTIAL, INTEL)
    for box in (first, few_box(3, 8, 4, SEQUENTIAL, INTEL)):
        assert ordering(box, stored_bytes, itemsize) == replace(box, bytes=bytes_)
    beside = pair_box(PairWork("kmin", 3, 2, 8, False), 10**4, 10**4, PARALLEL, INTEL)
    assert ordering(beside, stored_bytes, itemsize) == beside
