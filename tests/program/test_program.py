"""Programs: equal parts are one, steps come after what they need, and depth is no limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.plans import MATRIX, PAIR, SECOND, formula_of, program_of

import clmapreduce as cm
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.formula import Access, value_dtype
from clmapreduce.formula.node import Apply, Index, Literal, Node, Record, Symbol, components
from clmapreduce.formula.text.source import c_source
from clmapreduce.program.program import Program, shared, varies
from clmapreduce.program.step import Kind, Result

SUM, TOP = cm.Reduce("sum"), cm.Reduce("maximum")


def node(value: Any) -> Node:
    """A plain value as the node it is."""
    assert isinstance(value, Node)
    return value


def function_names(program: Program) -> list[str]:
    """The names of the functions in a program, sorted."""
    return sorted(n.function.name for n in program.nodes if isinstance(n, Apply))


def labels_of(program: Program) -> list[str]:
    return [step.label for step in program.steps]


# ------------------------------------------------------------------------------------------------------------- sharing
def test_equal_subexpressions_become_one_node() -> None:
    program = program_of(lambda x, y: ((x + y) * (x + y), x + y), "f4", "f4")
    product = node(program.outputs[0])
    assert isinstance(product, Apply)
    assert product.args[0] is product.args[1] is program.outputs[1]
    assert function_names(program) == ["add", "multiply"]


def test_operands_in_another_order_stay_as_written() -> None:
    """NaN and -0.0 make even the order of an addition's operands visible on some devices."""
    assert function_names(program_of(lambda x, y: (x + y, y + x, x - y, y - x), "f4", "f4")) == ["add"] * 2 + ["subtract"] * 2


def test_the_index_is_one_node() -> None:
    program = program_of(lambda x: (x + cm.index, x + Index()), "i8")
    assert program.outputs[0] is program.outputs[1]


def test_inputs_are_never_merged() -> None:
    program = program_of(lambda x, y: (x + 1, y + 1), "f4", "f4")
    assert program.outputs[0] is not program.outputs[1]
    assert sum(isinstance(n, Symbol) for n in program.nodes) == 2


def test_equal_values_of_another_dtype_stay_apart() -> None:
    program = program_of(lambda x: (x.astype("i4"), x.astype("i8"), x.astype("i4")), "f4")
    first, second, third = program.outputs
    assert first is third and first is not second


def test_equal_reductions_become_one_step() -> None:
    program = program_of(lambda x: SUM(x * x) + SUM(x * x) + cm.Reduce("sum")(x * x), "f4")
    assert labels_of(program) == ["Reduce('sum')"]


def test_equal_steps_behind_equal_steps_become_one() -> None:
    def norm(x: Any) -> Any:
        return cm.Scan("sum")(x / TOP(x))

    assert labels_of(program_of(lambda x: norm(x) * norm(x), "f4")) == ["Reduce('maximum')", "Scan('sum')"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (cm.Reduce("sum")(x), cm.Reduce("product")(x)),
        lambda x: (cm.Reduce("sum")(x), cm.Reduce("sum")(x + 1)),
        lambda x: (cm.Reduce("sum")(x) + x, cm.Scan("sum")(x)),
        lambda x: (cm.Scan("sum")(x), cm.Scan("sum", exclusive=True)(x)),
        lambda x: (cm.Reduce("argmin")(x), cm.Reduce("argmax")(x)),
        lambda x: (cm.Reduce("sum")(x), cm.Reduce("sum")(x.astype("f8"))),
        lambda x: (cm.Reduce(SECOND)(x), cm.Reduce(cm.Operator(lambda a, b: b, 0, commutative=False, check=False))(x)),
    ],
)
def test_steps_that_differ_stay_apart(function: Callable[..., Any]) -> None:
    program = program_of(function, "f4")
    assert len(program.steps) == 2
    first, second = program.outputs
    assert first is not second


def test_records_are_shared_part_by_part() -> None:
    program = program_of(lambda r: (cm.Reduce(MATRIX)(r), cm.Reduce(MATRIX)(r)), PAIR)
    first, second = program.outputs
    assert isinstance(first, Record) and isinstance(second, Record)
    assert all(first[name] is second[name] for name in PAIR.names or ())
    assert len(program.steps) == 1


# ------------------------------------------------------------------------------------------------------------ literals
ALIKE = [
    (np.float32("nan"), np.float32("nan")),
    (np.float64("inf"), np.float64("inf")),
    (np.int64(2**62), np.int64(2**62)),
    (np.uint64(2**64 - 1), np.uint64(2**64 - 1)),
    (-0.0, -0.0),
]
APART = [
    (0.0, -0.0),
    (np.float32(0.0), np.float32(-0.0)),
    (complex(0.0, 0.0), complex(0.0, -0.0)),
    (np.uint64(2**64 - 1), np.uint64(2**64 - 2)),
    (np.int64(2**62), np.int64(2**62 + 1)),
    (np.float32(1), np.float64(1)),
    (np.float64(0.1), np.nextafter(0.1, 1)),
    (True, 1),
    (1, 1.0),
]


@pytest.mark.parametrize(("one", "two"), ALIKE, ids=repr)
def test_equal_literals_are_one(one: Any, two: Any) -> None:
    program = program_of(lambda: (one, two))
    assert program.outputs[0] is program.outputs[1]


@pytest.mark.parametrize(("one", "two"), APART, ids=repr)
def test_literals_that_differ_in_a_bit_or_a_dtype_stay_apart(one: Any, two: Any) -> None:
    program = program_of(lambda: (one, two))
    assert program.outputs[0] is not program.outputs[1]
    for output, expected in zip(program.outputs, (one, two), strict=True):
        value = evaluate(node(output), {})
        assert value.tobytes() == np.asarray(expected).tobytes()


def test_what_is_computed_with_nan_or_minus_zero_is_not_confused() -> None:
    program = program_of(lambda x: (x + np.float32("nan"), x + np.float32("nan"), x * 0.0, x * -0.0), "f4")
    assert program.outputs[0] is program.outputs[1]
    assert program.outputs[2] is not program.outputs[3]


# ------------------------------------------------------------------------------------------------------- own C sources
def test_two_operators_in_c_are_not_confused() -> None:
    low, high = (cm.Operator(c_source(text), 0, name="own") for text in ("min(a, b)", "max(a, b)"))
    program = program_of(lambda x: (cm.Reduce(low)(x), cm.Reduce(high)(x), cm.Reduce(low)(x)), "i4")
    assert [step.bound for step in program.steps] == [step.bound for step in program.steps[:2]]
    assert program.outputs[0] is program.outputs[2]


def test_two_functions_in_c_of_one_name_are_not_confused() -> None:
    first, second = c_source("fmin(a, b)"), c_source("fmin(a, b)")
    program = program_of(lambda x, y: (first(x, y), second(x, y), first(x, y)), "f4", "f4")
    one, two, again = program.outputs
    assert one is again
    assert one is not two


# --------------------------------------------------------------------------------------------------------------- depth
def test_formulas_of_thousands_of_nodes_are_no_deeper_than_others() -> None:
    def long(x: Any) -> Any:
        for k in range(5000):
            x = x + k % 7
        return x

    program = program_of(lambda x: (long(x), SUM(long(x)), cm.Scan("sum")(long(x) / TOP(long(x)))), "f8")
    assert len(program.steps) == 3
    assert sum(isinstance(n, Apply) and n.function.name == "add" for n in program.nodes) == 5000


@pytest.mark.parametrize("kind", [cm.Scan("maximum"), lambda x: x - TOP(x)], ids=["scans", "reduces"])
def test_iterations_of_hundreds_of_steps_are_no_deeper_than_others(kind: Callable[[Any], Any]) -> None:
    def iterate(x: Any) -> Any:
        for _ in range(400):
            x = kind(x)
        return x

    program = program_of(iterate, "f4")
    assert len(program.steps) == 400
    assert_in_order(program)


# --------------------------------------------------------------------------------------------------------------- steps
def assert_in_order(program: Program) -> None:
    """Each step once, after every step whose result it uses."""
    earlier: set[int] = set()
    for step in program.steps:
        steps = [n.step for n in formula_nodes(step.nodes) if isinstance(n, Result)]
        assert all(id(below) in earlier for below in steps), step.label
        assert id(step) not in earlier
        earlier.add(id(step))


def formula_nodes(roots: list[Node]) -> list[Node]:
    """Every node below some nodes, walked without help of the library."""
    nodes: dict[int, Node] = {}
    todo = list(roots)
    while todo:
        current = todo.pop()
        if id(current) not in nodes:
            nodes[id(current)] = current
            todo += current.args if isinstance(current, Apply) else ()
    return list(nodes.values())


def test_steps_come_after_what_they_need() -> None:
    def tangle(x: Any, y: Any) -> Any:
        total = cm.Scan("sum")(x)
        top, low = TOP(total), cm.Reduce("minimum")(y)
        power = cm.Unfold("product")(top - low)
        return SUM(power * x), cm.Scan("maximum")(power + y), low

    program = program_of(tangle, "f4", "f4")
    assert_in_order(program)
    assert sorted(labels_of(program)) == sorted(
        [
            "Scan('sum')",
            "Reduce('maximum')",
            "Reduce('minimum')",
            "Unfold('product')",
            "Reduce('sum')",
            "Scan('maximum')",
        ]
    )


def test_steps_that_no_output_needs_are_left_out() -> None:
    def forgetful(x: Any) -> Any:
        SUM(x)
        cm.Scan("sum")(x)
        return TOP(x)

    assert labels_of(program_of(forgetful, "f4")) == ["Reduce('maximum')"]


def test_kept_partials_are_the_last_step() -> None:
    program = program_of(lambda x: cm.Partials("sum")(x / TOP(x)), "f4")
    assert labels_of(program) == ["Reduce('maximum')", "Partials('sum')"]
    assert program.partials is program.steps[-1] and program.partials.kind is Kind.PARTIALS
    assert program.outputs == ()
    assert_in_order(program)


def test_sharing_keeps_inputs_length_and_partials() -> None:
    program = program_of(lambda s: cm.Unfold("product")(s, 12), ("f4", Access.ARGUMENT), plain=True)
    again = shared(program)
    assert again.length == 12 and again.inputs == program.inputs
    assert again.steps[0].bound is program.steps[0].bound


def test_sharing_twice_changes_nothing() -> None:
    program = program_of(lambda x: (SUM(x * x) / SUM(x), cm.Scan("sum")(x * x) + SUM(x)), "f4")
    again = shared(program)
    assert function_names(again) == function_names(program)
    assert labels_of(again) == labels_of(program)


def test_sharing_changes_no_value() -> None:
    x = np.array([1.5, -2.0, 0.25], np.float32)

    def function(x: Any) -> Any:
        return (x + 1) * (x + 1) - cm.where(x > 0, x + 1, x * -0.0) / ((x + 1) * (x + 1) + 3)

    plain, program = program_of(function, "f4", plain=True), program_of(function, "f4")
    symbol = node(program.inputs[0].value)
    one = evaluate(node(plain.outputs[0]), {node(plain.inputs[0].value): x})
    two = evaluate(node(program.outputs[0]), {symbol: x})
    assert one.tobytes() == two.tobytes()
    assert (
        len(function_names(program))
        < len(function_names(plain))
        == len([n for n in formula_of(function, "f4").nodes if isinstance(n, Apply)])
    )


# -------------------------------------------------------------------------------------------------------------- varies
def test_what_varies_is_made_of_vectors_scans_or_unfolds() -> None:
    one = ("f4", Access.ARGUMENT)
    program = program_of(
        lambda x, s: (
            x, s, s * 2, x * s, cm.index, SUM(x), SUM(x) + s, SUM(x) + x, cm.Scan("sum")(x), cm.Unfold("product")(s),
            cm.Unfold("minimum")(s), cm.Reduce("argmin")(x), 3,
        ), "f4", one,
    )  # fmt: skip
    assert [varies(value) for value in program.outputs] == [
        True, False, False, True, True, False, False, True, True, True, True, False, False,
    ]  # fmt: skip


def test_a_record_varies_when_one_of_its_fields_does() -> None:
    program = program_of(lambda x: ({"a": SUM(x), "b": x}, {"a": SUM(x), "b": 1}), "f4")
    assert [varies(value) for value in program.outputs] == [True, False]


def test_a_literal_is_one_value_for_the_line() -> None:
    assert not varies(Literal(1.0, np.dtype("f4")))


def test_results_are_named_after_their_step_and_typed_as_their_operator() -> None:
    program = program_of(lambda r: cm.Reduce(MATRIX)(r), PAIR)
    (step,) = program.steps
    parts = {name: (result.name, result.dtype) for name, result in step.results.items()}
    assert parts == {
        "a": ("Reduce('affine').a", np.dtype("f4")),
        "b": ("Reduce('affine').b", np.dtype("i8")),
    }
    assert value_dtype(step.result) == PAIR
    assert all(result.step is step and not result.varies for result in step.results.values())
    assert components(step.result) == dict(step.results)
