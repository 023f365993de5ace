"""What the helpers of a vendor compute on its devices: within their promises, in every lane of every width."""

from __future__ import annotations

import ml_dtypes  # noqa: F401  # names bfloat16
import numpy as np
import pytest
from support.function_errors import marked_nans
from support.template_words import helper

import clmapreduce as cm
from clmapreduce.device.context import Context
from clmapreduce.formula.functions import exp_scaled
from hostsched import JobGraph, KernelJob, build


def test_lanes_move_up_and_the_identity_moves_in(context: cm.Context) -> None:
    """Inclusive and exclusive scans of every lane count, with every kind of shuffle."""
    data = np.arange(1, 200, dtype=np.float32)
    for exclusive in (False, True):
        result = cm.Scan("sum", exclusive)(data, context=context)
        np.testing.assert_array_equal(result, np.cumsum(data) - (data if exclusive else 0))


@pytest.mark.parametrize(("code", "lowest", "clamp"), [("f4", -87.0, 2.0**-126), ("f8", -708.0, 2.0**-1022)])
def test_the_fast_exponential_is_within_its_promise(
    context: cm.Context, mode: str, code: str, lowest: float, clamp: float
) -> None:
    """A few ulp plus the rounding of x · log2(e); what lies far below stays tiny, and NaN stays NaN. Above 0 it is 1,
    except on NVIDIA, whose instruction has no such limit.
    """
    x = np.concatenate([np.linspace(lowest, 0, 10_007), -np.logspace(-20, 0, 500)]).astype(code)
    result = cm.Map(lambda x: exp_scaled(x))(x, context=context, mode=mode)
    eps = np.finfo(code).eps
    error = np.abs(result / np.exp(x.astype(np.longdouble)) - 1).astype(np.float64)
    assert (error <= (3.5 + 0.65 * np.abs(x)) * eps).all()
    ends = cm.Map(lambda x: exp_scaled(x))(np.array([0, -1e30, -np.inf, np.nan, 1.5, 1e30] * 9, code), context=context, mode=mode)
    for zero, far, lowest_, nan, *above in ends.reshape(-1, 6):
        assert context.facts.vocabulary == "nvidia" or above == [1, 1]
        assert zero == 1 and 0 <= far <= clamp and 0 <= lowest_ <= clamp and np.isnan(nan)


def outputs_of(
    context: Context, data: np.ndarray, results: list[tuple[str, np.ndarray]], functions: list[tuple[str, str]]
) -> list[np.ndarray]:
    """What a kernel of one work-item writes. results: per output the C of its element number k of `data`, and an array
    of its dtype and length. functions: the helpers it calls, with their types.
    """
    vendor = context.facts.vocabulary
    double = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if any("double" in kind for _, kind in functions) else ""
    helpers = [
        helper(vendor, name, kind) for name, kind in functions
    ]
    names = {"f": "float", "i": "int", "d": "double", "l": "long", "h": "short", "b": "char", "q": "long"}
    kinds = [names[array.dtype.char] for array in (data, *(like for _, like in results))]
    heads = ", ".join(
        f"__global {kind} *{name}" for kind, name in zip(kinds, ["x", *(f"o{k}" for k in range(len(results)))], strict=True)
    )
    loops = [f"for (int k = 0; k < {len(like)}; k++) {{ {text} }}" for text, like in results]
    vectors = "".join(  # pointers, because vload16 and vstore16 crash in PoCL 3.0
        f"typedef {kind}{lanes} {kind}{lanes}_at __attribute__((aligned(sizeof({kind}))));\n"
        for kind in dict.fromkeys(kinds) for lanes in (2, 4, 8, 16)
    )  # fmt: skip
    source = f"""{double}{vectors}#define INLINE static inline __attribute__((always_inline))
{"".join(helpers)}
__kernel void cmr_tried({heads}) {{ {" ".join(loops)} }}"""
    kernel = build(context.queue, source, ("-cl-mad-enable", "-w")).kernel("cmr_tried")
    arrays = [cm.array(data, context), *(cm.array(like, context) for _, like in results)]
    buffers = tuple(array.buffer for array in arrays)
    JobGraph([KernelJob(kernel, 1, 1, buffers, buffers[:1], buffers[1:])]).submit(context.queue, ())
    return [array.to_numpy() for array in arrays[1:]]


def load(scalar: str, lanes: int, pointer: str) -> str:
    """C of the k-th `lanes` numbers behind a pointer."""
    return f"({pointer})[k]" if lanes == 1 else f"*(__global {scalar}{lanes}_at *)({pointer} + k * {lanes})"


def of_kind(scalar: str, lanes: int) -> str:
    return scalar + (str(lanes) if lanes > 1 else "")


LANES = {"f4": (1, 2, 4, 8, 16), "f8": (1, 2, 4, 8)}


@pytest.mark.parametrize("code", LANES)
def test_the_fast_power_of_two_is_within_its_promise(context: cm.Context, code: str, rng: np.random.Generator) -> None:
    """2.2 ulp (float64: 1.5) from twice the least normal number on, exact at 0, and its ends, in every lane of every width.
    NaN stays, whatever its other bits are.
    """
    scalar, lowest, highest, ulps = {"f4": ("float", -125, 128, 2.2), "f8": ("double", -1021, 1024, 1.5)}[code]
    if code == "f8" and not context.device.fp64:
        pytest.skip("no float64 here")
    dtype = np.dtype(code)
    below = np.nextafter(dtype.type(highest), dtype.type(0))
    x = np.concatenate([
        rng.uniform(lowest, highest, 60_000), rng.uniform(-2, 2, 4000), np.arange(lowest, highest), np.arange(lowest, highest - 1) + 0.5,
        np.nextafter(np.arange(lowest + 1, highest, dtype=dtype), dtype.type(1e9)), [lowest, below],
    ]).astype(dtype)  # fmt: skip
    ends = [0.0, -0.0, np.nan, -np.inf, np.inf, highest, highest + 0.5, 1e30, lowest - 30, -1e30, 10 * lowest, 1]
    x = np.concatenate([x, np.array(ends, dtype), rng.permuted(np.array(ends, dtype)), marked_nans(dtype)])
    x = np.concatenate([x, np.zeros(-len(x) % 16, dtype)])
    results = []
    for k, lanes in enumerate(LANES[code]):
        text = f"cmr_exp2_fast_{of_kind(scalar, lanes)}({load(scalar, lanes, 'x')})"
        store = f"{load(scalar, lanes, f'o{k}')} = {text};"
        results.append((f"if (k < {len(x) // lanes}) {{ {store} }}", np.full(len(x), -1, dtype)))
    kinds = [("exp2_fast", of_kind(scalar, lanes)) for lanes in LANES[code]]
    with np.errstate(all="ignore"):
        expected = np.exp2(x.astype(np.longdouble))
    normal = (x >= lowest) & (x < highest)
    for lanes, result in zip(LANES[code], outputs_of(context, x, results, kinds), strict=True):
        error = np.abs(result[normal] - expected[normal]) / np.spacing(expected[normal].astype(dtype))
        assert error.max() <= ulps, (lanes, error.max(), x[normal][error.argmax()])
        assert (result[x == 0] == 1).all() and np.isnan(result[np.isnan(x)]).all() and not np.isnan(result[~np.isnan(x)]).any()
        assert (result[x >= highest] == np.inf).all() and (result[x < lowest - 20] == 0).all(), lanes


def test_every_bfloat16_and_the_nearest_one_to_a_float(context: cm.Context) -> None:
    """All upper halves with the lower ones around a tie: the even one of two, to infinity beyond the last, NaN stays."""
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    bits = (np.arange(2**16, dtype=np.uint32)[:, None] << 16 | lower).ravel()
    texts = ("o0[k] = cmr_bfloat_bits_float(as_float(x[k]));", "o1[k] = cmr_bfloat_value_float((ushort)(x[k] >> 16));")
    pair = "o2[k] = (int)cmr_bfloat_pair_float(as_float(x[k]), 1.5f);"
    results = [(texts[0], np.zeros(len(bits), "i4")), (texts[1], np.zeros(len(bits), "f4")), (pair, np.zeros(len(bits), "i4"))]
    functions = [("bfloat_bits", "float"), ("bfloat_value", "float"), ("bfloat_pair", "float")]
    nearest, values, pairs = outputs_of(context, bits.view("i4"), results, functions)
    data = bits.view("f4")
    with np.errstate(invalid="ignore"):
        expected = data.astype("bfloat16")
    numbers = ~np.isnan(data)
    np.testing.assert_array_equal(nearest[numbers], expected.view("u2")[numbers])
    assert np.isnan(nearest[~numbers].astype("u2").view("bfloat16")).all()
    lower_half, upper_half = (pairs.view("u4") & 0xFFFF).astype("u2"), (pairs.view("u4") >> 16).astype("u2")
    np.testing.assert_array_equal(lower_half[numbers], expected.view("u2")[numbers])
    assert np.isnan(lower_half[~numbers].view("bfloat16")).all()
    assert (upper_half.view("bfloat16") == 1.5).all()
    np.testing.assert_array_equal(values.view("u4")[numbers], (bits & 0xFFFF0000)[numbers])
    assert np.isnan(values[(bits & 0x7F800000 == 0x7F800000) & (bits & 0x7F0000 != 0)]).all()


def test_flags_are_lanes_as_bits(context: cm.Context, rng: np.random.Generator) -> None:
    set_ = rng.integers(0, 2, (500, 16))
    for lanes in (4, 8, 16):
        text = f"o0[k] = (int)cmr_flags_int{lanes}({load('int', lanes, 'x')});"
        result = outputs_of(context, -set_.ravel().astype("i4"), [(text, np.zeros(8000 // lanes, "i4"))], [("flags", f"int{lanes}")])
        np.testing.assert_array_equal(result[0], set_.reshape(-1, lanes) @ (1 << np.arange(lanes)))


def test_the_better_of_two_passes_over_a_nan_that_comes_first(context: cm.Context, rng: np.random.Generator) -> None:
    a = rng.integers(-3, 4, 64).astype("f4")
    a[::7], a[1::9], a[2::11] = np.nan, np.inf, -np.inf
    b = np.where(np.isnan(a[::-1]), 2, a[::-1])
    data, count = np.concatenate([a, b]).astype("f4"), len(a)
    results, kinds, expected = [], [], []
    for name, pick in (("lesser", np.fmin), ("greater_one", np.fmax)):
        for lanes in (1, 4, 16):
            kind = of_kind("float", lanes)
            first, second, result = (load("float", lanes, at) for at in ("x", f"(x + {count})", f"o{len(results)}"))
            text = f"{result} = cmr_{name}_{kind}({first}, {second});"
            results.append((f"if (k < {count // lanes}) {{ {text} }}", np.zeros(count, "f4")))
            kinds.append((name, kind))
            expected.append(pick(a, b))
    for kind, result, exact in zip(kinds, outputs_of(context, data, results, kinds), expected, strict=True):
        np.testing.assert_array_equal(result, exact, str(kind))


@pytest.mark.parametrize("code", ["i1", "i2", "i4", "i8"])
def test_any_asks_every_lane_of_a_mask(context: cm.Context, code: str) -> None:
    """Masks as comparisons make them: -1 where true; none set, one of each lane, all set."""
    scalar = {"i1": "char", "i2": "short", "i4": "int", "i8": "long"}[code]
    for lanes in (2, 4, 8, 16):
        masks = np.concatenate([np.zeros((1, lanes)), -np.eye(lanes), -np.ones((1, lanes))]).astype(code)
        text = f"o0[k] = cmr_any_{scalar}{lanes}({load(scalar, lanes, 'x')});"
        (result,) = outputs_of(context, masks.ravel(), [(text, np.full(len(masks), 7, "i4"))], [("any", f"{scalar}{lanes}")])
        assert result.tolist() == [0] + [1] * (lanes + 1), lanes


@pytest.mark.parametrize("code", LANES)
def test_a_difference_is_of_what_was_rounded(context: cm.Context, code: str, rng: np.random.Generator) -> None:
    """A product is rounded before: less itself it leaves nothing."""
    scalar = {"f4": "float", "f8": "double"}[code]
    if code == "f8" and not context.device.fp64:
        pytest.skip("no float64 here")
    dtype, count, wide = np.dtype(code), 1024, LANES[code][-1]
    x, y = (rng.normal(size=count).astype(dtype) * dtype.type(1e6) for _ in "xy")
    data, results = np.concatenate([x, y, x * y]), []
    for lanes in (1, wide):
        a, b, c = (load(scalar, lanes, f"(x + {at})") for at in (0, count, 2 * count))
        text = f"{load(scalar, lanes, f'o{len(results)}')} = cmr_difference_{of_kind(scalar, lanes)}({a} * {b}, {c});"
        results.append((f"if (k < {count // lanes}) {{ {text} }}", np.full(count, 7, dtype)))
    kinds = [("difference", scalar), ("difference", of_kind(scalar, wide))]
    for result in outputs_of(context, data, results, kinds):
        np.testing.assert_array_equal(result, 0)


@pytest.mark.parametrize("code", LANES)
def test_fast_quotients_and_roots_are_within_their_promise(
    context: cm.Context, code: str, rng: np.random.Generator
) -> None:
    """2 ulp and 1 ulp for normal numbers; signs, zeros, infinities and NaN as they must be."""
    scalar = {"f4": "float", "f8": "double"}[code]
    if code == "f8" and not context.device.fp64:
        pytest.skip("no float64 here")
    dtype, count, wide = np.dtype(code), 4096, LANES[code][-1]
    a, b = (rng.choice([-1, 1], count) * 2.0 ** rng.uniform(-60, 60, count) for _ in "ab")
    a[:8], b[:8] = [1, -1, 0, np.inf, np.nan, 5, -np.inf, 0], [0, 0, 3, 2, 1, np.inf, np.inf, 0]
    data = np.concatenate([a, b]).astype(dtype)
    results = []
    for lanes in (1, wide):
        first, second, quotient = (load(scalar, lanes, at) for at in ("x", f"(x + {count})", f"o{len(results)}"))
        kind, root = of_kind(scalar, lanes), load(scalar, lanes, f"o{len(results) + 1}")
        texts = (f"{quotient} = cmr_divide_fast_{kind}({first}, {second});", f"{root} = cmr_sqrt_fast_{kind}({first});")
        results += [(f"if (k < {count // lanes}) {{ {text} }}", np.zeros(count, dtype)) for text in texts]
    below = [2**n for n in range(1, wide.bit_length() - 1)][::-1]  # wide roots are made of narrower ones
    kinds = [("divide_fast", scalar), ("divide_fast", of_kind(scalar, wide)), ("sqrt_fast", scalar)]
    kinds += [("sqrt_fast", of_kind(scalar, n)) for n in [*below[::-1], wide]]
    x, y = (part.astype(np.longdouble) for part in (data[:count], data[count:]))
    with np.errstate(all="ignore"):
        expected = [x / y, np.sqrt(x)] * 2
    for result, exact, ulps in zip(outputs_of(context, data, results, kinds), expected, [2, 1] * 2, strict=True):
        finite = np.isfinite(exact)
        np.testing.assert_array_equal(result[~finite], exact[~finite])
        error = np.abs(result[finite] - exact[finite]) / np.spacing(np.abs(exact[finite]).astype(dtype))
        assert error.max() <= ulps


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_places_go_to_the_nearest_that_there_is(context: cm.Context, lanes: int, rng: np.random.Generator) -> None:
    x, size = rng.integers(-40, 40, 512).astype("i4"), 17
    x[:4] = np.iinfo("i4").min, np.iinfo("i4").max, size, size - 1
    kind = of_kind("int", lanes)
    text = f"{load('int', lanes, 'o0')} = cmr_clipped_{kind}({load('int', lanes, 'x')}, {size});"
    guarded = f"if (k < {len(x) // lanes}) {{ {text} }}"
    (result,) = outputs_of(context, x, [(guarded, np.full(len(x), 77, "i4"))], [("clipped", kind)])
    np.testing.assert_array_equal(result, np.clip(x, 0, size - 1))
