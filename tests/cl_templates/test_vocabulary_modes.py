"""Domains and modes define the same words, and a sequential word waits for nothing and shares nothing."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from support.template_words import LOOKUP, TEMPLATES, rendering_of, signatures

from clmapreduce.plan import LocalArray
from clmapreduce.reductions import NAMED
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.local_arrays import accumulators

SUM = OperatorText(NAMED["sum"].bind(np.dtype("f4"), "fast", False), True)
TILE = {"tile": LocalArray("tile", "float", 8)}
KAHAN = OperatorText(NAMED["sum"].bind(np.dtype("f4"), "compensated", False), True)


def test_both_domains_define_the_same_words() -> None:
    dense, ranges = (LOOKUP.get_template(f"domain/{name}.cl.mako").module for name in ("dense", "ranges"))
    assert signatures("domain/dense") == signatures("domain/ranges") and len(signatures("domain/dense")) == 9
    assert dense.place("k", False) == ranges.place("k", False) != ranges.place("k", True)
    assert dense.here != ranges.here and dense.whole(64, "k") != ranges.whole(64, "k")
    for name in ("parameters", "merge_parameters", "rows_parameters"):
        first, second = getattr(dense, name), getattr(ranges, name)
        assert "const idx rows" in first and "const idx rows" in second and first != second
    assert ranges.scattered and not dense.scattered


def test_both_modes_take_the_same_arguments() -> None:
    seq, par = signatures("mode/seq"), signatures("mode/par")
    assert seq == par
    assert {
        "open_kernel",
        "each",
        "lane_span",
        "local_array",
        "group_scratch",
        "combine_group",
        "is_leader",
        "sync",
    } <= set(seq)


def test_sequential_words_hold_no_barrier_and_no_local_memory() -> None:
    text = (TEMPLATES / "mode" / "seq.cl.mako").read_text(encoding="utf-8")
    code = re.sub(r"^##.*$", "", text, flags=re.M)
    assert "barrier" not in code and "__local" not in code and "get_local" not in code


def test_local_arrays_are_declared_from_data() -> None:
    """One word declares them all, from the arrays of the kernel's spec."""
    declaration = re.compile(r"__local\s+[\w${}.]+\s+[\w${}.]+\[")
    files = {path.name for path in TEMPLATES.rglob("*.mako") if declaration.search(path.read_text(encoding="utf-8"))}
    assert files == {"par.cl.mako"}


def test_one_item_needs_no_scratch_no_tree_and_no_waiting() -> None:
    assert not rendering_of("mode/seq", "group_scratch", SUM).strip()
    assert not rendering_of("mode/seq", "combine_group", SUM, "acc").strip()
    assert not rendering_of("mode/seq", "sync").strip()
    assert rendering_of("mode/seq", "is_leader").strip() == "1"
    assert rendering_of("mode/seq", "lane_span", "b", "e", "first", "last").strip() == "const idx first = b, last = e;"
    assert rendering_of("mode/seq", "local_array", "tile", local_arrays=TILE).strip() == "float tile[8];"


def test_a_groups_arrays_are_local_one_per_part() -> None:
    assert rendering_of("mode/par", "local_array", "tile", local_arrays=TILE).strip() == "__local float tile[8];"
    arrays = {array.name: array for array in accumulators(KAHAN.bound, 64)}
    scratch = rendering_of("mode/par", "group_scratch", KAHAN, local_arrays=arrays)
    assert re.findall(r"__local float (\w+)\[64\];", scratch) == ["scratch_total", "scratch_error"]


@pytest.mark.parametrize("block", [1, 2, 32, 64, 256])
@pytest.mark.parametrize("subgroup", [1, 32])
def test_a_groups_tree_has_as_many_rounds_as_its_depth(block: int, subgroup: int) -> None:
    """Shuffles inside a warp, which needs nothing else; then one barrier per doubling of warps, one before, one behind."""
    text = rendering_of("mode/par", "combine_group", SUM, "acc", block=block, subgroup=subgroup, name="scratch")
    width = min(subgroup, block)
    assert text.count("cmr_shuffle_down_float(") == int(math.log2(width))
    trees = int(math.log2(block // width))
    assert text.count("barrier(") == (trees + 2 if width < block else 0)
    assert text.count("cmr_shuffle_first_float(") == (width == block)


@pytest.mark.parametrize(("length", "block"), [(0, 4), (1, 4), (4, 4), (5, 4), (100, 8), (7, 8)])
def test_spans_of_items_are_a_cut_of_the_groups_stretch(length: int, block: int) -> None:
    """Computed from the text itself: contiguous, in order, covering."""
    text = rendering_of("mode/par", "lane_span", "10", str(10 + length), "first", "last", block=block)
    lines = [line for line in text.strip().split("\n") if line]
    end = 10
    for item in range(block):
        names: dict[str, Any] = {"min": min}
        for line in lines:
            match = re.fullmatch(r"const idx (\w+) = (.*);", line.strip())
            assert match
            c = match[2].replace("(idx)get_local_id(0)", str(item)).replace("(idx)(", "(").replace("/", "//")
            names[match[1]] = eval(c, {"__builtins__": {}}, names)
        assert names["first"] == min(end, 10 + length)
        end = names["last"]
    assert end == 10 + length
