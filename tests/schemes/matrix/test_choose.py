"""Matrix instructions are chosen where a device has them, and a pair's products are worth it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes  # noqa: F401  # names bfloat16
import numpy as np
import pytest
from support.pair_plans import DISTANCE, form_of, layout_of, matrix_default, pair_plan
from support.plans import FACTS, PARALLEL, SEQUENTIAL, source_of

from clmapreduce.domain.dense import Pairwise
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.planning.passes import Setting
from clmapreduce.schemes.pairs.boxes import PairBox, WideBox
from clmapreduce.schemes.pairs.matrix.boxes import (
    MatrixBox,
    MatrixChainedBox,
    MatrixLongBox,
    MatrixNearestBox,
    MatrixWeightedBox,
    matrix_box,
    matrix_chained_box,
    matrix_long_box,
)
from clmapreduce.schemes.pairs.matrix.few import FewNumbers
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.matrix.parts.products import long_products
from clmapreduce.schemes.pairs.matrix.weighted.launch import WeightedKernel
from clmapreduce.schemes.pairs.matrix.wide_boxes import MatrixWideBox, matrix_wide_box
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.schemes.pairs.registry import choose

NEW = FACTS["nvidia"]
GAUSS = "Exp(-SqDist(Vi(0,{0}),Vj(1,{0})))"


def choice(layout: PairProblem, rows: int = 10**5, columns: int = 10**5, facts: Any = NEW, mode: Any = PARALLEL) -> Any:
    domain = Pairwise(rows, columns, 1, 4 * (rows + columns))
    return choose(layout, domain, mode, facts)[1]


def test_gradients_of_few_columns_are_made_of_differences() -> None:
    slope = f"Grad({GAUSS.format(40)},Vi(0,40),Vi(2,1))"
    assert [type(choice(layout_of(slope), columns=columns)) for columns in (63, 64)] == [WideBox, MatrixChainedBox]
    assert type(choice(layout_of(GAUSS.format(40) + "*Vj(2,40)"), columns=1)) is MatrixChainedBox


def test_softmaxes_of_long_weights() -> None:
    """The rounded shift of an exponent is one of its terms: the scheme finds products, and their slopes."""
    kernels = ((3, "cmr_pairwise_matrix_wide"), (40, "cmr_pairwise_matrix_chained"))
    for dim, kernel in kernels:
        for text in (f"Vi(0,{dim})|Vj(1,{dim})", f"-SqDist(Vi(0,{dim}),Vj(1,{dim}))"):
            passes = passes_of(form_of(text, "SumSoftMaxWeight", "Vj(2,64)"))
            plan = passes.plan(Setting(Pairwise(10**5, 10**5, 1, 10**7), PARALLEL, NEW), (np.dtype("f4"),))
            assert kernel in [stage.spec.kernel for stage in plan.stages], text
            if dim > 16:
                main = passes.main
                (product,) = long_products(replace(main.pair, expansion=None), main.bound)
                assert product.slopes is not None and len(product.slopes) == 1


@pytest.mark.parametrize("op", ["Sum", "LogSumExp"])
def test_vectors_that_are_walked_elsewhere(op: str) -> None:
    """Sums over up to 24 coordinates are terms, where groups that are far apart are computed by three pieces."""
    for dim, points, stages in ((17, 10**5, 3), (24, 10**5, 3), (25, 10**5, 0), (24, 10**3, 0)):
        passes = passes_of(form_of(f"{GAUSS.format(dim)}*Vj(2,1)" if op == "Sum" else f"-SqDist(Vi(0,{dim}),Vj(1,{dim}))", op))
        for facts in (NEW, replace(NEW, fp64=False), replace(NEW, matrix_units=False)):
            plan = passes.plan(Setting(Pairwise(points, points, 1, 10**7), PARALLEL, facts), (np.dtype("f4"),))
            kernels = [stage.spec.kernel for stage in plan.stages]
            assert kernels.count("cmr_pairwise_matrix") == (stages if facts == NEW else 0), (dim, points, kernels)
            assert ("cmr_pairwise_matrix_long" in kernels) == (facts.matrix_units and (not stages or not facts.fp64))


def test_what_else_is_walked_has_products_of_its_own() -> None:
    """A sum over coordinates that is no exponent would be computed by its terms."""
    for text in ("SqDist(Vi(0,20),Vj(1,20))*{0}", "(Vi(0,20)|Vj(1,20))*{0}"):
        main = passes_of(form_of(text.format(GAUSS.format(20)))).main
        layout = PairProblem(main.pair, main.bound, (np.dtype("f4"),), short=main.short)
        assert main.short is not None and type(choice(layout)) is MatrixLongBox


def test_what_is_left_of_long_vectors_fits_the_cache_of_instructions() -> None:
    """Functions of pairs that test their arguments, and a logsumexp, have half the columns."""
    for text, op, columns in (("Rsqrt(1+{0})", "Sum", 8), ("Log(1+{0})", "Sum", 4), ("Cos({0})*Vj(2,3)", "Sum", 4), ("Log(Vi(2,1))*Rsqrt(1+{0})", "Sum", 8), ("Rsqrt(1+{0})", "LogSumExp", 4)):
        assert choice(layout_of(text.format("SqDist(Vi(0,40),Vj(1,40))"), op)).columns == columns, (text, op)


def test_groups_are_computed_again_by_matrix_instructions_where_weights_have_room() -> None:
    """A gigabyte of pieces, eight bytes a number; else as the formula says at once."""
    for columns, launches in ((10**5, 1), (10**6, 1), (10**7, 0)):
        passes = passes_of(form_of(f"{GAUSS.format(3)}*Vj(2,64)"))
        plan = passes.plan(Setting(Pairwise(10**5, columns, 1, 10**9), PARALLEL, NEW), (np.dtype("f4"),))
        names = [stage.spec.template for stage in plan.stages]
        assert [names.count(f"kernel/matrix/pairwise_{n}") for n in ("weights", "matrix_weighted")] == [launches] * 2
        assert names.count("kernel/matrix/pairwise_matrix_redo") == 1


def test_much_text_has_fewer_columns_beside_long_weights_too() -> None:
    """But many blocks of numbers have half of them in any case."""
    for text, size, columns in (("Rsqrt(1+{0})", 16, 8), ("Log(1+{0})", 16, 4), ("Cos({0})", 20, 4), ("Rsqrt(1+{0})", 40, 4)):
        passes = passes_of(form_of(f"{text.format('SqDist(Vi(0,8),Vj(1,8))')}*Vj(2,{size})"))
        plan = passes.plan(Setting(Pairwise(10**5, 10**5, 1, 10**7), PARALLEL, NEW), (np.dtype("f4"),))
        boxes = [stage.spec.box for stage in plan.stages if isinstance(stage.spec, WeightedKernel)]
        assert [box.columns for box in boxes] == [columns], (text, size)


def test_crowded_registers_are_left_to_items_of_rows() -> None:
    """Numbers that are kept of every row: sums, and what the products leave of the row itself."""
    slope = "Concat({0}*Vj(2,1),Grad({0}*Vj(2,1),Vi(0,{1}),IntCst(1)))"
    for dim, few in ((3, True), (6, True), (8, False), (12, False)):
        box = choice(layout_of(slope.format(GAUSS.format(dim), dim)))
        assert (type(box) is MatrixBox) == few and (few or type(box) is PairBox), dim
    for dim, width, few in ((3, 4, True), (3, 8, False), (12, 8, True)):
        layout = layout_of(f"-SqDist(Vi(0,{dim}),Vj(1,{dim}))", "SumSoftMaxWeight", weight=f"Vj(2,{width})")
        assert (type(choice(layout)) is MatrixBox) == few, (dim, width)
    assert type(choice(layout_of("SqDist(Vi(0,8),Vj(1,8))", "ArgKMin", k=20))) is MatrixBox


def test_many_sums_are_left_to_others() -> None:
    """Sums of one value each, which nothing takes as a long vector."""
    sums = GAUSS.format(3) + "*TensorProd(Vi(0,3)-Vj(1,3),Vj(2,{0}))"
    for width, few in ((5, True), (6, False), (20, False)):
        assert (type(choice(layout_of(sums.format(width)))) is MatrixBox) == few, width
    for size, width, long in ((40, 16, True), (40, 17, False), (20, 17, False)):
        inner = f"Vi(0,{size})|Vj(1,{size})"
        layout = layout_of(inner, "SumSoftMaxWeight", weight=f"Vj(2,{width})")
        assert (type(choice(layout)) is MatrixLongBox) == long, (size, width)


def test_sums_of_walked_vectors_are_few_where_groups_give_up() -> None:
    """Vectors of 17 to 24 numbers, whose sums of products are terms where registers hold them."""
    domain = Pairwise(8_000, 8_000, 1, 10**7)
    for width, few in ((14, True), (15, False)):  # and two numbers of their exponents
        passes = passes_of(form_of("-SqDist(Vi(0,20),Vj(1,20))", "SumSoftMaxWeight", f"Vj(2,{width})"))
        plan = passes.plan(Setting(domain, PARALLEL, NEW), (np.dtype("f4"),))
        assert ("three pieces" in plan.why) == few, width


@pytest.mark.parametrize(("kept", "sample"), [(2, 4), (11, 4), (12, 2), (15, 2), (16, 1), (100, 1)])
def test_more_columns_are_looked_at_where_more_are_kept(kept: int, sample: int) -> None:
    box = choice(layout_of("SqDist(Vi(0,3),Vj(1,3))", "KMin", k=kept))
    assert isinstance(box, MatrixBox) and box.sample == sample


def test_many_rows_of_few_columns_are_left_to_the_formula() -> None:
    """What is prepared for a row, or kept by items that share it, must pay."""
    cases = (
        (GAUSS.format(3), "Sum", {}, 399, 400), (GAUSS.format(10), "Sum", {}, 255, 256),
        (GAUSS.format(3) + "*Vj(2,10)", "Sum", {}, 399, 400), ("SqDist(Vi(0,3),Vj(1,3))", "ArgMin", {}, 5119, 5120),
        ("SqDist(Vi(0,3),Vj(1,3))", "ArgKMin", {"k": 10}, 14335, 14336),
    )  # fmt: skip
    for text, op, options, few, many in cases:
        layout = layout_of(text, op, **options)
        kinds = [type(choice(layout, columns=columns)) for columns in (few, many)]
        assert kinds[0] is PairBox and kinds[1] in (MatrixBox, MatrixWideBox), (text, op)
    layout = layout_of(GAUSS.format(3))
    assert [type(choice(layout, rows, 300)) for rows in (65535, 65536)] == [MatrixBox, PairBox]
    for width, columns, wide in ((10, 399, False), (10, 400, True), (12, 100, False), (13, 100, True)):
        setting = Setting(Pairwise(10**5, columns, 1, 10**7), PARALLEL, NEW)
        plan = passes_of(form_of(f"{GAUSS.format(3)}*Vj(2,{width})")).plan(setting, (np.dtype("f4"),))
        assert any("matrix_wide" in stage.spec.template for stage in plan.stages) == wide, (width, columns)


def test_few_exponents_beside_tests_are_left_to_rows() -> None:
    for function in ("Cos(Vi(0,{0})|Vj(1,{0}))", "Log(1+{1})", "Powf(1+{1},Pm(3,1))"):
        for dim, few in ((3, False), (4, False), (6, True)):
            distance = f"SqDist(Vi(0,{dim}),Vj(1,{dim}))"
            layout = layout_of(f"Exp(-{distance})*{function.format(dim, distance)}*Vj(2,1)")
            assert (type(choice(layout)) is MatrixBox) == few, (function, dim)
    assert type(choice(layout_of(f"{GAUSS.format(3)}*Square(Vi(0,3)|Vj(1,3))*Vj(2,1)"))) is MatrixBox


def test_matrix_instructions_test_four_pairs_at_once() -> None:
    """An item's two rows of a block with two columns; there is no exponential by a polynomial beside that."""
    square = "SqDist(Vi(0,6),Vj(1,6))"
    passes = passes_of(form_of(f"Exp(-{square})*Log(1+{square})*Vj(2,1)"))
    plan = passes.plan(Setting(Pairwise(10**5, 10**5, 1, 10**9), PARALLEL, NEW), (np.dtype("f4"),))
    text = source_of(plan.stages[0])
    assert plan.stages[0].spec.template == "kernel/matrix/pairwise_matrix"
    assert "cmr_log_fast_float4((float4)(" in text and "= cmr_exp2_near" not in text


def test_sums_count_among_what_an_item_keeps() -> None:
    """Sums of a tile too, and what approximations are watched by."""
    rows = {("Log(1+{0})", 8, 1): 4, ("Log(1+{0})", 4, 1): 8, ("Cos(Sqrt({0}))", 8, 1): 4, ("Cos(Sqrt({0}))", 6, 1): 8, ("Sin(Sqrt({0}))", 8, 1): 4, ("Sin(Sqrt({0}))", 5, 1): 4, ("Sin(Sqrt({0}))", 4, 1): 8, ("Log(1+{0})", 3, 4): 8, ("Log(1+{0})", 3, 8): 4, ("Log(1+{0})", 8, 4): 4}
    for (text, dim, width), vectors in rows.items():
        layout = layout_of(text.format(f"SqDist(Vi(0,{dim}),Vj(1,{dim}))") + f"*Vj(2,{width})")
        assert choice(layout).vectors == vectors, (text, dim, width)


@pytest.mark.parametrize(
    ("text", "op", "vectors", "at_once"),
    [
        ("Vi(0,1)-Vj(1,1)", "LogSumExp", 4, 8), ("Vi(0,5)-Vj(1,5)", "LogSumExp", 4, 3), ("Vi(0,20)-Vj(1,20)", "LogSumExp", 1, 1),
        ("Abs(Vi(0,8)-Vj(1,8))", "ArgMin", 4, 4), ("Abs(Vi(0,20)-Vj(1,20))", "ArgMin", 2, 1),
        (GAUSS.format(3) + "*TensorProd(Vi(0,3)-Vj(1,3),Vj(2,10))", "Sum", 2, 1),
    ],
)  # fmt: skip
def test_pairs_of_many_numbers_fit_registers(text: str, op: str, vectors: int, at_once: int) -> None:
    """With fewer rows of an item, and fewer columns at once."""
    box = choice(layout_of(text, op))
    assert (box.vectors, box.at_once) == (vectors, at_once)


def test_vectors_in_order_are_taken_one_by_one() -> None:
    """A statement for each of so many numbers, and for each of several columns, would build for minutes."""
    for text, columns in (("Vi(0,18)-Vj(1,18)", 1), ("SqDist(Vi(0,20),Vj(1,20))", 4)):
        layout = layout_of(text, "KMin", k=10)
        assert choice(layout, facts=FACTS["intel"], mode=SEQUENTIAL).at_once == columns, text


def test_scalars_of_many_numbers_go_elsewhere() -> None:
    """Registers have no room for them beside the weights' sums."""
    for count, kind in ((2, MatrixWeightedBox), (16, WideBox)):
        x, y = f"Vi(0,{16 * count})", f"Vj(1,{16 * count})"
        parts = "+".join(f"SqDist(Extract({x},{16 * k},12),Extract({y},{16 * k},12))" for k in range(count))
        assert type(choice(layout_of(f"Rsqrt(1+{parts})*Vj(2,20)"))) is kind


@pytest.mark.parametrize("code", ["f4", "f2", "bfloat16"])
@pytest.mark.parametrize(
    ("text", "op", "kind"),
    [
        (GAUSS.format(1), "Sum", MatrixBox), (GAUSS.format(3) + "*Vj(2,1)", "Sum", MatrixBox),
        (GAUSS.format(16), "Mean", MatrixBox), (DISTANCE, "LogSumExp", MatrixBox), (DISTANCE, "ArgMin", MatrixBox),
        ("(Vi(0,8)|Vj(1,8))", "Max", MatrixBox), (f"(Vi(0,3)|Vj(1,3))*{GAUSS.format(3)}", "Sum", MatrixBox),
        (f"Grad({GAUSS.format(3)},Vi(0,3),Vi(2,1))", "Sum", MatrixBox), (GAUSS.format(40) + "*Vj(2,1)", "Sum", MatrixLongBox),
        (GAUSS.format(40) + "*Vj(2,20)", "Sum", MatrixChainedBox), ("(Vi(0,40)|Vj(1,40))*Vj(2,70)", "Mean", MatrixChainedBox),
        (f"Grad({GAUSS.format(40)},Vi(0,40),Vi(2,1))", "Sum", MatrixChainedBox), (GAUSS.format(40) + "*Vj(2,4)", "Sum", MatrixLongBox),
        ("Rsqrt(1+SqDist(Vi(0,3),Vj(1,3)))*Vj(2,20)", "Sum", MatrixWeightedBox), ("Sqrt(SqDist(Vi(0,40),Vj(1,40)))", "ArgMin", MatrixNearestBox),
        (GAUSS.format(3) + "*Vj(2,20)", "Sum", MatrixWideBox), (GAUSS.format(3) + "*Vj(2,40)", "Sum", MatrixWideBox),
    ],
)  # fmt: skip
def test_products_go_to_the_units(text: str, op: str, kind: type[Any], code: str) -> None:
    """Of floats of 16 bits too, which are computed with as float32."""
    layout = layout_of(text, op, code)
    assert type(choice(layout)) is kind and choice(layout) == choice(layout_of(text, op))
    for facts, mode in ((replace(NEW, matrix_units=False), PARALLEL), (FACTS["amd"], PARALLEL), (NEW, SEQUENTIAL)):
        box = choice(layout, facts=facts, mode=mode)
        assert not isinstance(box, (MatrixBox, MatrixLongBox))
        assert box == choice(layout, facts=replace(facts, matrix_units=False), mode=mode)


@pytest.mark.parametrize(
    ("text", "op", "code"),
    [
        (GAUSS.format(3), "Sum", "f8"), ("Exp(-Sqrt(SqDist(Vi(0,3),Vj(1,3))))", "Sum", "f4"),
        ("(Vi(0,1)*Vj(1,1))", "Max", "f4"), ("Exp(-Sum(Abs(Vi(0,3)-Vj(1,3))))", "Sum", "f4"),
        ("SqDist(Vi(0,40),Vj(1,40))+Vj(2,1)", "ArgMin", "f4"),
    ],
)  # fmt: skip
def test_what_has_no_such_products_does_not(text: str, op: str, code: str) -> None:
    assert matrix_default(layout_of(text, op, code), Pairwise(10**5, 10**5, 1, 10**6), PARALLEL, NEW) is None


def test_a_few_rows_are_walked_by_items_of_their_own() -> None:
    assert not isinstance(choice(layout_of(few=True), rows=8, columns=10**6), MatrixBox)


def test_boxes_follow_the_problem() -> None:
    """Few rows are shared by all warps; many pairs have large tiles; clusters as many rows as they hold."""
    few = matrix_box(1, 2, 0, 100, 10**7)
    assert 16 * few.blocks >= 100 and few.across == few.block // 32
    assert matrix_box(1, 2, 0, 10**4, 10**4).tile < matrix_box(1, 2, 0, 10**5, 10**5).tile


def test_little_is_walked_at_once() -> None:
    """By one launch, on whose few rows all warps of a group meet."""
    for rows, columns in ((1000, 1000), (3000, 3000), (10**4, 500)):
        domain = Pairwise(rows, columns, 1, 10**6)
        layout = layout_of(GAUSS.format(3))
        box = matrix_default(layout, domain, PARALLEL, NEW)
        assert isinstance(box, MatrixBox) and box.across == box.block // 32
        assert len(FewNumbers(layout, domain, PARALLEL, NEW).plan(box).stages) == 1


@pytest.mark.parametrize(("rows", "rows_computed"), [(100, 104), (104, 104), (105, 112), (112, 112), (33, 40)])
def test_few_rows_are_rounded_up_to_eight(rows: int, rows_computed: int) -> None:
    domain, layout = Pairwise(rows, 10**7, 1, 10**8), layout_of(GAUSS.format(3))
    box = matrix_default(layout, domain, PARALLEL, NEW)
    assert isinstance(box, MatrixBox)
    assert f"; {rows_computed} rows a group" in FewNumbers(layout, domain, PARALLEL, NEW).plan(box).why


def test_exponentials_are_shared_where_there_is_time() -> None:
    assert matrix_box(1, 9, 0, 10**5, 10**5).share == 0 < matrix_box(1, 2, 0, 10**5, 10**5).share


@pytest.mark.parametrize(("sizes", "block"), [([60], 64), ([244], 256), ([260] * 9, 128), ([9], 32), ([1953], 256)])
def test_groups_suit_clusters(sizes: list[int], block: int) -> None:
    """Whole groups, or little that is idle; warps without rows cost less than others."""

    def rows_with_padding(rows: int) -> float:
        return float(sum(-(-size // rows) * rows for size in sizes))

    assert matrix_box(1, 2, 0, 10**6, 10**6, rows_with_padding).block == block


@pytest.mark.parametrize(
    ("text", "template"),
    [(GAUSS.format(3), "matrix"), (GAUSS.format(40), "matrix_long"), (GAUSS.format(3) + "*Vj(2,40)", "matrix_wide")],
)
@pytest.mark.parametrize("code", ["f4", "f2", "bfloat16"])
def test_blocks_of_pairs_too(code: str, text: str, template: str) -> None:
    plan = pair_plan(layout_of(text, code=code), 10_000, 10_000, PARALLEL, NEW, sparse=True)
    assert f"kernel/matrix/pairwise_{template}" in [stage.spec.template for stage in plan.stages]


@pytest.mark.parametrize(("size", "rows"), [(1000, 128), (60, 64), (20, 32), (1, 16)])
def test_groups_of_long_vectors_suit_clusters(size: int, rows: int) -> None:
    """The rows of an operand are the fewest there; numbers of a row are as many either way."""

    def rows_with_padding(span: int) -> float:
        return float(-(-size // span) * span)

    assert long_rows(matrix_long_box(rows_with_padding)) == rows
    assert long_rows(matrix_chained_box(40, rows_with_padding)) == rows
    wide = matrix_wide_box(40, 1, rows_with_padding)
    assert (wide.block, wide.numbers) == (max(32, rows), matrix_wide_box(40, 1).numbers)


def long_rows(box: MatrixLongBox) -> int:
    return FragmentLayout(box.block, box.across, box.rows).rows
