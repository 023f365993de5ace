"""Vendors spell the same functions: the text of every helper for every type, and who uses whose."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.kernel_rules import QUALIFIERS
from support.plans import FACTS, PARALLEL, SEQUENTIAL, formula_of, map_plan, reduce_plan, scan_plan, source_of
from support.template_words import helper, vocabulary

import clmapreduce as cm
from cl_templates.loader import vocabularies
from clmapreduce.reductions import NAMED
from clmapreduce.reductions.text import OperatorText

VENDORS = ["portable", "clang", "nvidia", "pocl", "intel", "subgroups", "wide"]
ATTRIBUTE = "kernel_attribute"


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_helper_is_a_function_of_its_type_alone(vendor: str) -> None:
    for function, arguments in vocabulary(vendor).items():
        assert arguments == ("(width)" if function == ATTRIBUTE else "(T)"), function


@pytest.mark.parametrize("vendor", VENDORS[1:])
def test_a_vendor_only_overrides(vendor: str) -> None:
    assert set(vocabulary(vendor)) <= set(vocabulary("portable"))


TYPES = {
    "floor_divide": "char uchar short ushort int uint long ulong float float8 float16 double double8",
    "mod": "char uchar short ushort int uint long ulong float float8 float16 double double8",
    "floor_divide_by_library": "float double", "mod_by_library": "float double",
    "power": "char uchar short ushort int uint long ulong", "shift_left": "char uchar short ushort int uint long ulong",
    "shift_right": "char uchar short ushort int uint long ulong", "mul": "float2 double2", "div": "float2 double2",
    "sqrt": "float2 double2", "exp": "float2 double2", "log": "float2 double2",
    "exp_scaled": "float float2 float4 float8 float16 double double2 double4 double8",
    "sin": "half half16 float float4 float16 double double8", "cos": "float float8", "tan": "float float2 double4",
    "lanes_up1": "float2 float16 char16 long8", "lanes_up2": "float4 uint16", "lanes_up4": "float8",
    "lanes_up8": "float16", "evens": "float2 float16 uchar16 long8", "odds": "float2 float16 uchar16 long8",
    "turns_low": "float2 float16 double8", "turns_high": "float2 float16 double8",
    "store_turns": "float2 float16 double8", "stream_turns": "float2 double8",
    "longest": "int4 int8 int16", "flags": "int4 int8 int16",
    "exp2_fast": "float float2 float4 float8 float16 double double2 double4 double8", "exp2_near": "float float4 double", "exp2_decay": "float float4 float16 double double8",
    "exp2_product": "float float4 float16 double double8", "exp2_product_decay": "float float4 float16 double double8", "any": "char16 short8 int int16 long8",
    "difference": "float float16 double double8",
    "sum_error": "float float16 double double8",
    "product_error": "float float16 double double8", "fma": "float float4 float8 float16 double double2 double4 double8",
    "pow": "float float8 float16 double double4 double8", "ln": "float float8 float16 double double4 double8",
    "log1p": "float float16 double double8", "log2": "float float4 double", "log10": "float double2 double8",
    "expm1": "float float16 double double8", "sinh": "float float8 double4", "cosh": "float float16 double double8",
    "tanh": "float float16 double double8", "asinh": "float float16 double double8", "acosh": "float float8 double4", "atanh": "float float16 double",
    "atan": "float float16 double double8", "atan2": "float float16 double double8",
    "ln_called": "float double8", "sin_called": "float float16 double", "cos_called": "float double4", "pow_called": "float float8 double", "power_called": "float float4 double4",
    "log_fast": "float float4 float8 float16 double double4 double8", "sin_fast": "float float4 float8 float16 double double4 double8",
    "sin_positive_fast": "float float4 float16 double double4",
    "cos_fast": "float float2 float8 float16 double double4 double8", "power_fast": "float float4 float8 float16 double double4 double8",
    "atan_fast": "float float16 double double8", "log2_quick": "float", "log2_close_quick": "float", "sin_quick": "float", "sin_near_quick": "float", "sin_small_quick": "float", "cos_quick": "float", "xlog2x_quick": "float",
    "divide_fast": "float float16 double double8", "sqrt_fast": "float float2 float16 double double8", "rsqrt_fast": "float float8 float16 double double8", "root_fast": "float float16 double double8",
    "abs": "half half16 float float2 float16 double double8", "lesser": "char ushort int float float16 double8", "greater_one": "uchar short long float float16 double8",
    "shuffle_down": "char uchar short ushort half int uint float long ulong double float2 double2",
    "shuffle_up": "char uchar short ushort half int uint float long ulong double float2 double2",
    "shuffle_first": "char uchar short ushort half int uint float long ulong double float2 double2",
    "ballot": "int", "warp_sync": "int", "device_fence": "int", "end_unless": "int", "along": "int4 int8 int16", "gathers": "int4 int8 int16", "ahead": "float int long uchar",
    "gather": "float4 float8 float16 int4 int8 int16 double4 double8 long8 uchar16 half16",
    "stream_load": "float4 int4 uint4 double4 char4 half4", "add_unless": "float double", "add_if_reached": "float double",
    "half_bits": "float float2 float16", "half_value": "float float4 float16",
    "from_half": "float float2 float4 float8 float16", "to_half": "float float2 float4 float8 float16 double double2 double8",
    "load_half": "float", "store_half": "float",
    "half_pair": "float", "half_round": "float",
    "bfloat_value": "float", "bfloat_bits": "float", "bfloat_pair": "float",
    "magnitude": "float",
    "matrix_rows": "uint4", "matrix_hold": "uint4", "matrix_columns": "uint2 uint4", "matrix_product": "float4",
    "matrix_bfloat": "float4",
    "matrix_start": "float4", "matrix_from": "float4", "matrix_put": "uint4",
    "matrix_product_short": "float4", "matrix_start_short": "float4", "matrix_from_short": "float4",
    "number_pieces": "uint2", "matrix_numbers": "uint2 uint4", "matrix_apart": "uint4", "matrix_sum": "float4", "matrix_rest": "float4", "matrix_sum_cut": "float4", "matrix_rest_cut": "float4",
    "copy_async": "uint4", "copy_wait": "int", "within": "int4 int8 int16",
    "clipped": "int int4 int16 long ulong", "outside": "int long ulong",
}  # fmt: skip


RESULTS = {
    "any": "int", "longest": "int", "flags": "uint", "ballot": "uint", "warp_sync": "void", "device_fence": "void", "along": "int", "gathers": "int", "ahead": "void",
    "end_unless": "void", "bfloat_bits": "ushort", "half_pair": "uint", "bfloat_pair": "uint", "copy_async": "void", "copy_wait": "void", "matrix_put": "void",
    "store_turns": "void", "store_half": "void", "stream_turns": "void", "outside": "int",
}  # fmt: skip


VECTORS = {"half_bits": "uint", "to_half": "ushort"}
"""Whose results have as many lanes as their arguments."""


def test_every_helper_is_tried() -> None:
    assert {*TYPES, ATTRIBUTE} == set(vocabulary("portable"))


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("function", TYPES)
def test_a_helper_defines_its_function(vendor: str, function: str) -> None:
    if function not in vocabulary(vendor):
        vendor = "portable"
    for kind in TYPES[function].split():
        text = helper(vendor, function, kind)
        heads = re.findall(QUALIFIERS + r" (\w+) (\w+)\(", text, re.M)
        lanes = kind.lstrip("abcdefghijklmnopqrstuvwxyz")
        result = f"{VECTORS[function]}{lanes}" if function in VECTORS else RESULTS.get(function, kind)
        assert heads == [(result, f"cmr_{function}_{kind}")]
        assert text.count("{") == text.count("}") and text.count("(") == text.count(")")
        assert (re.search(r"\basm\b", text) is not None) <= (vendor == "nvidia")
        assert "UNDEFINED" not in text and "${" not in text


def test_rare_arguments_cost_a_call_on_nvidia() -> None:
    """The library's functions are long: where one is for rare arguments, its text is not in every place."""
    for function in ("log_fast", "sin_fast", "cos_fast", "power_fast"):
        for kind in ("float", "float4"):
            calls = re.findall(r"cmr_(?:ln|sin|cos|pow|power)_\w+\(", helper("nvidia", function, kind))
            assert f"cmr_{function}_{kind}(" in calls or "log" in function
            assert [call for call in calls if "fast" not in call and "_called_" not in call] == []
            assert sum("_called_" in call for call in calls) == 1, "one for all lanes"
    for function in ("ln_called", "sin_called", "cos_called", "pow_called", "power_called"):
        assert "noinline" in helper("nvidia", function, "float")


def test_warps_exchange_only_with_sync_and_every_word_of_a_value() -> None:
    words = {"char": 1, "half": 1, "int": 1, "float": 1, "long": 2, "double": 2, "float2": 2, "double2": 4}
    for function in ("shuffle_down", "shuffle_up", "shuffle_first"):
        for kind, count in words.items():
            text = helper("nvidia", function, kind)
            assert text.count("shfl.sync.") == text.count("shfl.") == count


def test_every_part_of_every_operator_can_be_shuffled() -> None:
    for name in NAMED:
        for code in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"):
            if code[0] == "c" and name not in ("sum", "product", "any", "all", "mean", "norm"):
                continue
            for accumulate in ("auto", "fast"):
                for _, kind in OperatorText(NAMED[name].bind(np.dtype(code), accumulate, True), True).parts:
                    assert helper("nvidia", "shuffle_down", kind) and helper("subgroups", "shuffle_down", kind)


def test_nvidia_uses_its_own_exponential_and_pocl_sines_from_operators() -> None:
    formula = formula_of(lambda x: cm.math.sin(x), "f4")
    plans = {name: map_plan(formula, 10**6, SEQUENTIAL, FACTS[name]) for name in ("intel", "pocl")}
    texts = {name: source_of(plan.stages[0]) for name, plan in plans.items()}
    assert "pi / 2" in texts["pocl"] and "pi / 2" not in texts["intel"]
    plain = formula_of(lambda x: x, "f4")
    for name, facts in FACTS.items():
        source = source_of(reduce_plan("logsumexp", plain, 10**6, PARALLEL, facts).stages[0])
        assert ("ex2.approx.ftz" in source) == (name == "nvidia")


def test_registers_are_exchanged_where_the_vendor_can() -> None:
    plain = formula_of(lambda x: x, "f4")
    for plan in (reduce_plan, scan_plan):
        for name, facts in FACTS.items():
            source = source_of(plan("sum", plain, 10**6, PARALLEL, facts).stages[-1])
            assert ("shfl.sync" in source) == (name == "nvidia")
            assert ("sub_group_shuffle" in source) == (name == "subgroups")


def test_subgroups_have_the_width_that_the_kernel_names() -> None:
    """No other vocabulary says it, and no kernel whose items work alone."""
    plain = formula_of(lambda x: x, "f4")
    for name, facts in FACTS.items():
        for mode in (SEQUENTIAL, PARALLEL):
            source = source_of(scan_plan("sum", plain, 10**6, mode, facts).stages[-1])
            widths = re.findall(r"__kernel .*\(intel_reqd_sub_group_size\((\d+)\)\)", source)
            assert widths == (["16"] if name == "subgroups" and mode is PARALLEL else [])


def test_a_vocabulary_of_several_files_takes_the_first_that_has_a_word() -> None:
    assert vocabularies("subgroups+intel") == ("subgroups", "intel", "clang", "portable")
    assert vocabularies("subgroups+portable") == ("subgroups", "portable") and vocabularies("portable") == ("portable",)
    both = "subgroups+intel"
    assert helper(both, "shuffle_up", "int") == helper("subgroups", "shuffle_up", "int") != helper("intel", "shuffle_up", "int")
    assert helper(both, "cos", "float") == helper("intel", "cos", "float") != helper("portable", "cos", "float")
