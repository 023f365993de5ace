"""What all schemes share: keys of kernels, and the text that stores results."""

from __future__ import annotations

from dataclasses import dataclass, replace

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

import clmapreduce as cm
from clmapreduce.formula.formula import Formula, Input, symbol
from clmapreduce.formula.node import Node
from clmapreduce.plan import LocalArray
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.outputs import out_parameters
from clmapreduce.schemes.common.stores import store_text


@dataclass(frozen=True, eq=False)
class MapWithArrays(KernelText):
    template = "kernel/line/map"
    declared: tuple[LocalArray, ...] = ()

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.declared


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
        of(formula=formula_of(lambda x: x * 3, "f4")), of(length=2**33), of(mode=PARALLEL), of(facts=FACTS["nvidia"]),
        of(facts=FACTS["pocl"]), of(unroll=3), of(bytes=16), of(streaming=True),
    ]  # fmt: skip
    specs = {stage.spec for plan in others for stage in plan.stages} | {base.spec}  # type: ignore[attr-defined]
    assert len(specs) == 9
    assert base.spec != "cmr_map"


def test_local_memory_is_counted() -> None:
    arrays = (LocalArray("a", "float", 10), LocalArray("b", "uint4", 3, aligned=True), LocalArray("c", "double", 2))
    spec = MapWithArrays(Target.of(PARALLEL, INTEL, True), (*arrays, LocalArray("d", "idx", 4)))
    assert spec.local_bytes == 40 + 48 + 16 + 32, "an index may be a long"
    private = MapWithArrays(Target.of(SEQUENTIAL, INTEL, True), arrays)
    assert private.local_bytes == 0


def test_equal_operators_and_formulas_are_one_kernel() -> None:
    """A formula's content is the key of its kernel, not the object."""
    specs = {reduce_plan("sum", formula_of(lambda x: x * 2, "f4"), 10**6, SEQUENTIAL, INTEL).stages[0].spec for _ in "ab"}
    assert len(specs) == 1
    others = [formula_of(lambda x: x * 3, "f4"), formula_of(lambda x: x * 2.5, "f4"), formula_of(lambda x: x * 2, "f8")]
    specs |= {reduce_plan("sum", formula, 10**6, SEQUENTIAL, INTEL).stages[0].spec for formula in others}
    assert len(specs) == 4


def test_what_is_shared_is_not_what_is_equal() -> None:
    x = symbol("in0", F4)
    assert isinstance(x, Node)
    inputs, square = (Input("in0", F4, x),), x * x
    twice, common = Formula(inputs, (x * x + x * x,)), Formula(inputs, (square + square,))
    assert twice.content != common.content
    assert twice.content == Formula(inputs, (x * x + x * x,)).content == twice.instance().content


def test_zeros_of_either_sign_are_distinct() -> None:
    plus, minus, none = (formula_of(lambda x, zero=zero: x + zero, "f4").content for zero in (0.0, -0.0, np.nan))
    assert plus != minus and none != plus and none == formula_of(lambda x: x + np.nan, "f4").content


def test_two_combines_of_users_are_never_equal() -> None:
    """It may be the same function with another result the next time."""
    operator = cm.Operator(lambda a, b: a + b, 0)
    one, other = (operator.bind(F4, "auto", True) for _ in range(2))
    assert one.content == one.content != other.content


def test_the_vendor_decides_vocabulary_and_shuffles() -> None:
    for name, facts in FACTS.items():
        for mode in MODES:
            context = MapWithArrays(Target.of(mode, facts, True, streaming=True)).context()
            vendors = {"subgroups": "subgroups+intel", "wide": "wide+pocl", "amd": "portable", "small": "portable"}
            assert context["vendor"] == vendors.get(name, name)
            width = {"nvidia": 32, "subgroups": 16}.get(name, 1)
            assert context["subgroup"] == (width if mode is PARALLEL else 1)
            assert context["cpu"] == (facts.kind == "cpu")
            assert context["streaming"] == context["cpu"]
    assert MapWithArrays(Target.of(SEQUENTIAL, INTEL, True)).kernel == "cmr_map"


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
