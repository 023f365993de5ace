"""Chains: which launches a long line takes, in which order, and which arrays lie between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.line_chains import LAST, LENGTH, LOW, ONE, POWERS, SCAN, SUM, TOP, label_of, links, names_between
from support.plans import INTEL, MATRIX, PAIR, SEQUENTIAL, chain_of

import clmapreduce as cm
from clmapreduce.domain.line import Line


# ------------------------------------------------------------------------------------------------------ order of links
def test_a_map_is_one_link() -> None:
    assert links(lambda x: x + 1, "f4") == ["map"]


def test_elementwise_parts_are_no_links_of_their_own() -> None:
    assert links(lambda x: SUM(x * x + 1) * 2, "f4") == ["Reduce:sum"]


def test_reduces_of_one_line_share_a_link() -> None:
    assert links(lambda x, y: (SUM(x), TOP(x * y), cm.Reduce("argmin")(y)), "f4", "f4") == [
        "Reduce:sum, Reduce:extremum, Reduce:argument"
    ]


def test_a_reduce_comes_as_early_as_it_can() -> None:
    """The minimum is written after the scan, but waits for nothing."""
    assert links(lambda x: (SCAN(x / TOP(x)), LOW(x)), "f4") == ["Reduce:extremum, Reduce:extremum", "Scan:sum"]


def test_what_keeps_an_order_goes_apart() -> None:
    assert links(lambda x: (LAST(x), SUM(x), TOP(x)), "f4") == ["Reduce:sum, Reduce:extremum", "Reduce:user"]


def test_two_that_keep_an_order_go_one_by_one() -> None:
    other = cm.Reduce(cm.Operator(lambda a, b: b, 0, commutative=False, check=False, name="other"))
    assert links(lambda x: (LAST(x), other(x)), "f4") == ["Reduce:user", "Reduce:user"]


def test_an_iteration_is_a_link_per_round_and_a_map() -> None:
    def iterate(x: Any) -> Any:
        for _ in range(5):
            x = x / TOP(x)
        return x

    assert links(iterate, "f4") == ["Reduce:extremum"] * 5 + ["map"]
    assert names_between(iterate, "f4") == [f"scalar{k}" for k in range(5)], "no vector is ever stored"


def test_a_projection_is_a_reduce_and_a_map() -> None:
    assert links(lambda b, c: c * SUM(b * c) / SUM(c * c), "f4", "f4") == ["Reduce:sum, Reduce:sum", "map"]


def test_partials_end_a_chain() -> None:
    chain = chain_of(lambda x: cm.Partials("sum")(x / TOP(x)), "f4")
    assert [label_of(link) for link in chain.links] == ["Reduce:extremum", "Partials:sum"]


def test_constants_beside_vectors_are_a_link_in_front() -> None:
    chain = chain_of(lambda x, s: (x + 1, s * 2), "f4", ONE)
    assert [label_of(link) for link in chain.links] == ["ones", "map"]
    assert chain.links[0].layout is not None and chain.links[0].layout.targets == ("out1",)
    first, second = chain.plan(Line(LENGTH), SEQUENTIAL, INTEL, True).stages
    assert first.groups == 1 and second.groups > 1


def test_a_constant_of_a_reduced_value_is_no_link() -> None:
    assert links(lambda x, s: (SUM(x) * s, TOP(x) + 1), "f4", ONE) == ["Reduce:sum, Reduce:extremum"]


# ------------------------------------------------------------------------------------------------------------- unfolds
def test_an_unfold_that_is_reduced_is_reduced_where_it_is_made() -> None:
    assert links(lambda s: SUM(POWERS(s, 9) * 2), ONE) == ["Reduce:sum of powers"]
    assert names_between(lambda s: SUM(POWERS(s, 9) * 2), ONE) == []


def test_several_reduces_of_one_unfold_share_its_walk() -> None:
    assert links(lambda s: (SUM(POWERS(s, 9)), TOP(POWERS(s, 9))), ONE) == ["Reduce:sum, Reduce:extremum of powers"]


def test_an_unfold_that_is_an_output_too_is_made_again_not_stored_between() -> None:
    def function(s: Any) -> Any:
        return SUM(POWERS(s, 9)), POWERS(s, 9)

    assert links(function, ONE) == ["Reduce:sum of powers", "Unfold:product"]
    assert names_between(function, ONE) == []


def test_a_reduce_that_keeps_an_order_meets_stored_powers() -> None:
    assert links(lambda s: LAST(POWERS(s, 9)), ONE) == ["Unfold:product", "Reduce:user"]
    assert names_between(lambda s: LAST(POWERS(s, 9)), ONE) == ["vector0"]


def test_an_unfold_of_a_reduced_value_waits_for_it() -> None:
    assert links(lambda x: SUM(POWERS(LOW(x)) * x), "f4") == ["Reduce:extremum", "Reduce:sum of powers"]


def test_a_reduce_of_two_unfolds_needs_one_of_them_stored() -> None:
    def function(s: Any, t: Any) -> Any:
        return SUM(POWERS(s, 9) * POWERS(t))

    assert links(function, ONE, ONE) == ["Unfold:product", "Reduce:sum of powers"]
    assert names_between(function, ONE, ONE) == ["vector0"]


# --------------------------------------------------------------------------------------------------- what is in memory
def test_a_scan_that_ends_the_pipeline_carries_the_outputs() -> None:
    assert links(lambda x: (SCAN(x) * 2, x + 1), "f4") == ["Scan:sum"]
    assert names_between(lambda x: SCAN(x) * 2, "f4") == []
    chain = chain_of(lambda x: (SCAN(x) * 2, x + 1), "f4")
    layout = chain.links[0].layout
    assert layout is not None and layout.tail is not None
    assert layout.targets == ("out0", "out1") and layout.sources == ("in0",)


def test_a_scan_that_is_the_output_needs_no_tail() -> None:
    layout = chain_of(lambda x: SCAN(x), "f4").links[0].layout
    assert layout is not None and layout.tail is None


def test_a_scan_is_stored_for_a_later_link() -> None:
    assert links(lambda x: TOP(SCAN(x)), "f4") == ["Scan:sum", "Reduce:extremum"]
    assert names_between(lambda x: TOP(SCAN(x)), "f4") == ["vector0"]


def test_a_stored_scan_is_read_by_all_that_need_it() -> None:
    def function(x: Any) -> Any:
        total = SCAN(x)
        return total / TOP(total), LAST(total)

    assert links(function, "f4") == ["Scan:sum", "Reduce:extremum", "Reduce:user", "map"]
    assert [name[:-1] for name in sorted(names_between(function, "f4"))] == ["scalar", "vector"]


def test_the_last_of_two_scans_is_not_stored() -> None:
    assert names_between(lambda x: (cm.Scan("maximum")(x), SCAN(x)), "f4") == ["vector0"]
    assert links(lambda x: (cm.Scan("maximum")(x), SCAN(x)), "f4") == ["Scan:extremum", "Scan:sum"]


def test_one_value_is_computed_once_behind_the_reduce_that_completes_it() -> None:
    """dot / square is stored as one number: no index divides again."""
    chain = chain_of(lambda b, c: c * (SUM(b * c) / SUM(c * c)), "f4", "f4")
    first, second = chain.links
    assert [value.variable.dtype for value in chain.stored.values()] == [np.dtype("f4")]
    assert first.layout is not None and first.layout.tail is not None and second.layout is not None
    assert any(node.dtype for node in first.layout.tail.formula.nodes)
    names = [getattr(node, "function", None) and node.function.name for node in second.layout.formula.nodes]  # type: ignore[attr-defined]
    assert "divide" not in names and names.count("multiply") == 1


def test_a_value_made_of_two_links_is_stored_by_the_later_one() -> None:
    chain = chain_of(lambda x: x * (SUM(x) + TOP(x - SUM(x))), "f4")
    assert [label_of(link) for link in chain.links] == ["Reduce:sum", "Reduce:extremum", "map"]
    plan = chain.plan(Line(LENGTH), SEQUENTIAL, INTEL, True)
    assert [stage.writes for stage in plan.stages if "scalar" in stage.writes[0]] == [("scalar1",), ("scalar0",)]
    assert "scalar1" not in plan.stages[-1].reads, "the map reads the sum of both, nothing else"


def test_records_between_links_keep_their_layout() -> None:
    chain = chain_of(lambda r: SUM(cm.Scan(MATRIX)(r)["a"]), PAIR)
    (value,) = chain.stored.values()
    assert value.variable.dtype == PAIR
    plan = chain.plan(Line(1000), SEQUENTIAL, INTEL, True)
    assert plan.scratch["vector0"] == 1000 * PAIR.itemsize


@pytest.mark.parametrize(("function", "code"), [(SUM, "f4"), (cm.Reduce(MATRIX), PAIR)], ids=["number", "record"])
def test_an_output_that_is_a_reduce_itself_has_no_tail(function: Any, code: Any) -> None:
    (link,) = chain_of(function, code).links
    assert link.layout is not None and link.layout.tail is None


# --------------------------------------------------------------------------------------------------- how long it takes
def test_hundreds_of_links_are_found_in_no_time() -> None:
    def iterate(x: Any) -> Any:
        for _ in range(150):
            x = x / TOP(x)
        return x

    assert len(chain_of(iterate, "f4").links) == 151
