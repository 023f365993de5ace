"""What all schemes share: keys that tell kernels apart, and the text that stores results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support.plans import (
    FACTS,
    INTEL,
    MODES,
    PAIR,
    PARALLEL,
    SEQUENTIAL,
    formula_of,
    layout_of,
    map_plan,
    reduce_plan,
    source_of,
)

from clmapreduce.plan import LocalArray
from clmapreduce.schemes.common.kernel import Target, kernel_spec, out_parameters, store_text

PLAIN = formula_of(lambda x: x * 2, "f4")
F4 = np.dtype("f4")


def test_equal_specs_render_to_equal_text() -> None:
    one, two = (map_plan(PLAIN, 10**6, SEQUENTIAL, INTEL).stages[0] for _ in range(2))
    assert one.spec == two.spec and hash(one.spec) == hash(two.spec)
    assert source_of(one) == source_of(two)
    longer = map_plan(PLAIN, 10**6 + 1, SEQUENTIAL, INTEL).stages[0]
    assert longer.spec == one.spec, "a length is an argument"


def test_whatever_changes_the_text_changes_the_key() -> None:
    def of(**how: object) -> object:
        facts = how.pop("facts", INTEL)
        return map_plan(how.pop("formula", PLAIN), how.pop("length", 10**6), how.pop("mode", SEQUENTIAL), facts, **how)  # type: ignore[arg-type]

    base = of().stages[0]  # type: ignore[attr-defined]
    others = [
        of(formula=formula_of(lambda x: x * 2, "f4")), of(length=2**33), of(mode=PARALLEL), of(facts=FACTS["nvidia"]),
        of(facts=FACTS["pocl"]), of(unroll=3), of(bytes=16), of(streaming=True),
    ]  # fmt: skip
    specs = {stage.spec for plan in others for stage in plan.stages} | {base.spec}  # type: ignore[attr-defined]
    assert len(specs) == 9
    assert base.spec != "cmr_map"


def test_local_memory_is_counted() -> None:
    arrays = (LocalArray("a", "float", 10), LocalArray("b", "uint4", 3, aligned=True), LocalArray("c", "double", 2))
    spec = kernel_spec(
        "line/map", Target(PARALLEL, INTEL, True), False, {}, {}, arrays=lambda: (*arrays, LocalArray("d", "idx", 4))
    )
    assert spec.local_bytes == 40 + 48 + 16 + 32, "an index may be a long"
    private = kernel_spec("line/map", Target(SEQUENTIAL, INTEL, True), False, {}, {}, arrays=lambda: arrays)
    assert private.local_bytes == 0


def test_two_bound_operators_are_two_kernels_even_when_one_is_gone() -> None:
    """Keys hold the ids of objects, so a spec keeps its objects alive."""
    seen = set()
    for _ in range(50):
        seen.add(reduce_plan("sum", PLAIN, 10**6, SEQUENTIAL, INTEL).stages[0].spec)
    assert len(seen) == 50


def test_the_vendor_decides_vocabulary_and_shuffles() -> None:
    for name, facts in FACTS.items():
        for mode in MODES:
            context = dict(kernel_spec("map", Target(mode, facts, True), True, {}, {}).context())
            assert context["vendor"] == (name if name in ("nvidia", "pocl", "intel") else "portable")
            assert context["subgroup"] == (32 if name == "nvidia" and mode is PARALLEL else 1)
            assert context["cpu"] == (facts.kind == "cpu")
            assert context["streaming"] == context["cpu"]
    assert kernel_spec("map", Target(SEQUENTIAL, INTEL, True), False, {}, {}).kernel == "cmr_map"


def test_results_are_stored_by_kind() -> None:
    assert store_text(1, F4, {"": "v"}, "i", 1, False) == "out1[i] = v;"
    assert store_text(0, F4, {"": "v"}, "i", 8, False) == "CMR_STORE(float8, out0 + (i), v);"
    assert store_text(0, F4, {"": "v"}, "i", 8, True) == "CMR_STREAM(float8, out0 + (i), v);"
    assert store_text(0, PAIR, {"a": "v", "b": "w"}, "i", 1, False).split("\n") == [
        "(*(__global float *)(out0 + (size_t)(i) * 16 + 0)) = v;",
        "(*(__global long *)(out0 + (size_t)(i) * 16 + 8)) = w;",
    ]
    assert out_parameters([F4, PAIR, np.dtype("?")]) == [
        "__global float *restrict out0", "__global uchar *restrict out1", "__global uchar *restrict out2",
    ]  # fmt: skip
    assert layout_of(formula_of(lambda x, y: x + y, "f4", "f4")).sources == ("in0", "in1")


def test_facts_are_plain_data() -> None:
    assert replace(INTEL, compute_units=3).compute_units == 3
    assert hash(INTEL) == hash(replace(INTEL))
