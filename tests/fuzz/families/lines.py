"""One primitive on one vector, or a few: Map, Reduce, Scan, Partials, Unfold."""

from __future__ import annotations

from typing import Any

import numpy as np
from fuzz.case import Case, Shape
from fuzz.expressions import SYMBOLIC, drawn_tree, evaluate, expected, function_of, text_of
from fuzz.inputs import in_some_form, on_host, results
from fuzz.near import Near
from fuzz.whole import REDUCTIONS, identity_of, near_logsumexp, numbers_for, prefixes_of
from support.oracles import assert_near, assert_same, check_reduced, product_tolerance, unit, values, wide

import clmapreduce as cm

KINDS = "biuuiffff"


def drawn_dtype(case: Case, kinds: str = KINDS) -> np.dtype[Any]:
    dtypes = case.home.dtypes(case.one(kinds))
    return case.one([d for d in dtypes for _ in range(3 if d == np.float32 else 1)])


def plain(case: Case, dtype: Any, shape: Any) -> np.ndarray[Any, Any]:
    """Numbers for formulas: floats of about 1, integers over their whole range."""
    if np.dtype(dtype).kind == "f":
        spread = 0.5 if np.dtype(dtype) == np.float16 else case.one([0.0, 1.0, 2.0])
        numbers = case.rng.standard_normal(shape) * 10.0 ** case.rng.uniform(-spread, spread, shape)
        return np.asarray(numbers).astype(dtype)
    return values(case.rng, dtype, shape)


def map_(case: Case) -> Shape:
    """A random formula of up to three vectors and numbers, traced or as a string, one output or two."""
    dtype = drawn_dtype(case)
    count, outputs = case.below(4, 1), case.one([1, 1, 2])
    trees = [drawn_tree(case.rng, dtype.kind, count) for _ in range(outputs)]
    primitive: Any
    if outputs == 1 and case.chance(0.4):
        text = text_of(trees[0])
        primitive, description, by_name = cm.Map(text), f"cm.Map({text!r})", True
    else:
        functions = [function_of(tree, count) for tree in trees]
        names = ", ".join(f"x{k}" for k in range(count))
        function = eval(f"lambda {names}: tuple(f({names}) for f in fs)" if outputs > 1 else f"lambda {names}: fs[0]({names})", {"fs": functions})
        primitive, description, by_name = cm.Map(function), f"cm.Map(lambda {names}: {[text_of(t) for t in trees]})", False
    scalars = [case.chance(0.2) for _ in range(count)]

    def run(case: Case) -> None:
        shape: Any = (case.length(),) if case.chance(0.8) else (case.below(40), case.below(60))
        xs = [plain(case, dtype, () if scalar and k else shape) for k, scalar in enumerate(scalars)]
        arguments_in_order = [in_some_form(case, x, f"x{k}") for k, x in enumerate(xs)]
        case.note(description)
        how = case.how()
        arguments = {f"x{k}": g for k, g in enumerate(arguments_in_order)} if by_name else {}
        if by_name:  # a string takes the names that it reads
            arguments = {name: g for name, g in arguments.items() if name in text_of(trees[0])}
        if by_name and not any(np.ndim(on_host(g)) for g in arguments.values()):
            return  # no vector gives the length
        call = (lambda **k: primitive(**arguments, **k)) if by_name else (lambda **k: primitive(*arguments_in_order, **k))
        read = list(arguments.values()) if by_name else arguments_in_order
        outputs = results(case, call, read, how)
        for one, tree in zip(outputs, trees, strict=True):
            reference = expected(tree, [np.broadcast_to(x, shape) for x in xs])
            if isinstance(reference, Near):
                reference.check(one)
            else:
                assert_same(one, reference)

    return run


def promotion(case: Case) -> Shape:
    """Two dtypes, a NumPy scalar or a weak number among them: the dtype and the values of NumPy's promotion."""
    dtypes = case.home.dtypes("iufc")
    first, second = case.one(dtypes), case.one(dtypes)
    operation = case.one(["add", "sub", "mul"])
    weak = case.chance(0.25)
    primitive = cm.Map(lambda a, b: SYMBOLIC[operation](a, b))

    def run(case: Case) -> None:
        length = case.length(5000)
        x = values(case.rng, first, length)
        y: Any = case.one([2, 3, 7]) if weak else values(case.rng, second, () if case.chance(0.3) else length)
        dtype_expected = np.result_type(first) if weak else np.result_type(first, second)
        kinds = {first.kind, second.kind}
        if not weak and ((kinds == {"i", "u"} and np.dtype("u8") in (first, second)) or dtype_expected not in case.home.dtypes("iufc")):
            return  # refused: uint64 beside a signed integer, float64 without hardware
        case.note(f"cm.Map({operation}) of {first} and {'a number' if weak else second}")
        pair = [in_some_form(case, x, "x"), y if weak else in_some_form(case, y, "y")]
        (result,) = results(case, lambda **k: primitive(*pair, **k), [pair[0]] if weak else pair, case.how())
        assert result.dtype == dtype_expected, (result.dtype, dtype_expected)
        with np.errstate(all="ignore"):
            a, b = x.astype(dtype_expected), np.asarray(y).astype(dtype_expected)
            exact = evaluate((operation, ("x", 0), ("x", 1)), [a, np.broadcast_to(b, a.shape)], SYMBOLIC)
        if dtype_expected.kind in "iu":
            assert_same(result, exact)
        else:
            size = np.abs(a.astype(np.clongdouble)) * np.abs(b.astype(np.clongdouble)) if operation == "mul" else np.abs(a) + np.abs(b)
            small = float(np.finfo(dtype_expected).tiny)
            inside = size < float(np.finfo(dtype_expected).max) / 4
            wide_right = evaluate((operation, ("x", 0), ("x", 1)), [a.astype(np.clongdouble), b.astype(np.clongdouble)], SYMBOLIC)
            far = 4 * unit(dtype_expected) * size + small
            assert_near(result[inside], (wide_right if dtype_expected.kind == "c" else wide_right.real)[inside], far[inside].astype(float))

    return run


def reduce_(case: Case) -> Shape:
    """Every operator by name over every dtype."""
    name = case.one(REDUCTIONS)
    dtype = drawn_dtype(case, "biufffc" if name in ("sum", "product", "any", "all") else "biufff")
    accumulate = case.one(["auto", "auto", "double", "compensated", "fast"]) if name == "sum" else "auto"
    if (accumulate == "double" and not case.home.fp64) or dtype.kind not in "f":
        accumulate = "auto"
    reduce = cm.Reduce(name)

    def run(case: Case) -> None:
        shape: Any = (case.length(1 << 20, 1 if name.startswith("arg") else 0),)
        if case.chance(0.15):
            shape = (case.below(50, 1), case.below(50, 1))
        x = numbers_for(case, name, dtype, shape)
        argument = in_some_form(case, x)
        how = {**case.how(tiles=True), "accumulate": accumulate}
        if case.chance(0.1):
            how["finish"] = "host"
        case.note(f"cm.Reduce({name!r})(x, accumulate={accumulate!r}, mode={how['mode']!r})")
        (result,) = results(case, lambda **k: reduce(argument, **k), [argument], how)
        if x.size == 0:
            assert_same(result, identity_of(name, dtype))
        elif name == "logsumexp":
            near_logsumexp(x, result)
        else:
            check_reduced(name, x, result, accumulate, case.home.fp64)

    return run


def scan(case: Case) -> Shape:
    name = case.one(REDUCTIONS)
    dtype = drawn_dtype(case, "biufff")
    exclusive = not name.startswith("arg") and case.chance(0.4)
    primitive = cm.Scan(name, exclusive=exclusive)

    def run(case: Case) -> None:
        x = numbers_for(case, name, dtype, (case.length(),), special=False)
        argument = in_some_form(case, x)
        how = case.how(tiles=True)
        case.note(f"cm.Scan({name!r}, exclusive={exclusive})(x, mode={how['mode']!r})")
        (result,) = results(case, lambda **k: primitive(argument, **k), [argument], how)
        assert result.shape == x.shape
        if exclusive and x.size:
            assert_same(result[0], identity_of(name, dtype))
            prefixes_of(name, x[:-1], result[1:])
        else:
            prefixes_of(name, x, result)

    return run


def partials(case: Case) -> Shape:
    name = case.one(["sum", "product", "minimum", "maximum", "any", "all", "argmin", "argmax"])
    dtype = drawn_dtype(case, "biufff")
    primitive = cm.Partials(name)

    def run(case: Case) -> None:
        x = numbers_for(case, name, dtype, (case.length(100_003),), special=False)
        argument = in_some_form(case, x)
        how = case.how()
        case.note(f"cm.Partials({name!r})(x, mode={how['mode']!r}).prefix")
        sums = primitive(argument, **how)
        every = on_host(sums.prefix(mode=how["mode"]))
        assert len(sums) == x.size and every.shape == (x.size + 1,)
        if not name.startswith("arg"):
            assert_same(every[0], identity_of(name, dtype))
        prefixes_of(name, x, every[1:])
        ends = case.rng.integers(0 if not name.startswith("arg") else min(1, x.size), x.size + 1, case.one([(), (1,), (33,), (5, 7)]))
        ends = ends.astype(case.one(["i8", "i4", "u2"]))
        assert_same(on_host(sums.prefix(ends, mode=how["mode"])), every[ends.astype("i8") & 0xFFFF if ends.dtype == "u2" else ends])

    return run


def unfold(case: Case) -> Shape:
    name = case.one(["index", "sum", "product", "minimum", "maximum", "any", "all"])
    dtype = drawn_dtype(case, "iuffc" if name in ("sum", "product") else "biuff")
    primitive = cm.Unfold(name)

    def run(case: Case) -> None:
        length, how = case.length(), case.how(tiles=True)
        case.note(f"cm.Unfold({name!r})(…, {length}, mode={how['mode']!r}), {dtype}")
        if name == "index":
            (result,) = results(case, lambda **k: primitive(length, **k), [], how)
            assert_same(result, np.arange(length))
            return
        base = numbers_for(case, name, dtype, (1,), special=False)[0]
        if name == "product" and dtype.kind in "fc":
            base = dtype.type(base / abs(base) * (1 + case.rng.uniform(-1, 1) / max(length, 1)))
        if name == "sum" and dtype == np.float16:
            base = dtype.type(np.clip(base, -1, 1) * 0.05)
        argument: Any = cm.array(np.asarray(base), case.home.context) if case.chance(0.2) else base
        (result,) = results(case, lambda **k: primitive(argument, length, **k), [argument], how)
        assert result.dtype == dtype and result.shape == (length,)
        if name in ("sum", "product") and dtype.kind in "iu":
            ufunc = np.add if name == "sum" else np.multiply
            assert_same(result, ufunc.accumulate(np.full(length, base, dtype), dtype=dtype))
        elif name in ("any", "all"):
            assert_same(result, np.full(length, base != 0).astype(dtype))
        elif name in ("sum", "product"):
            _near_powers(name, base, dtype, length, result, case.home.fp64)
        else:
            assert_same(result, np.full(length, base, dtype))

    return run


def _near_powers(name: str, base: Any, dtype: Any, length: int, result: Any, fp64: bool) -> None:
    long_type = np.clongdouble if dtype.kind == "c" else np.longdouble
    place = np.arange(1, length + 1)
    with np.errstate(all="ignore"):
        exact = long_type(base) * place if name == "sum" else np.multiply.accumulate(np.full(length, base, long_type))
        far = 4 * unit(dtype) * np.abs(exact) if name == "sum" else product_tolerance(dtype, exact, 2 * length, fp64)
    far = np.asarray(far, float) + float(np.finfo(dtype).tiny)
    inside = np.abs(exact) < float(np.finfo(wide(dtype)).max) / 4
    assert_near(result[inside], exact[inside], far[inside])


FAMILIES = {"map": map_, "promotion": promotion, "reduce": reduce_, "scan": scan, "partials": partials, "unfold": unfold}
