"""One primitive on one vector, or a few: Map, Reduce, Scan, Partials, Unfold."""

from __future__ import annotations

from typing import Any

import numpy as np
from fuzz.case import Case, Shape
from fuzz.expressions import TRACED, drawn_tree, evaluated, expected, text_of, traced
from fuzz.inputs import dressed, on_host, results
from fuzz.near import Near
from fuzz.whole import REDUCTIONS, identity_of, near_logsumexp, numbers_for, prefixes_of
from support.oracles import assert_near, assert_same, check_reduced, product_tolerance, unit, values, wide

import clmapreduce as cm

KINDS = "biuuiffff"


def drawn_dtype(case: Case, kinds: str = KINDS) -> np.dtype[Any]:
    found = case.home.dtypes(case.one(kinds))
    return case.one([d for d in found for _ in range(3 if d == np.float32 else 1)])


def plain(case: Case, dtype: Any, shape: Any) -> np.ndarray[Any, Any]:
    """Numbers for formulas: floats of about 1, integers over their whole range."""
    if np.dtype(dtype).kind == "f":
        spread = 0.5 if np.dtype(dtype) == np.float16 else case.one([0.0, 1.0, 2.0])
        made = case.rng.standard_normal(shape) * 10.0 ** case.rng.uniform(-spread, spread, shape)
        return np.asarray(made).astype(dtype)
    return values(case.rng, dtype, shape)


def map_(case: Case) -> Shape:
    """A random formula of up to three vectors and numbers, traced or as a string, one output or two."""
    dtype = drawn_dtype(case)
    count, outputs = case.below(4, 1), case.one([1, 1, 2])
    trees = [drawn_tree(case.rng, dtype.kind, count) for _ in range(outputs)]
    mapped: Any
    if outputs == 1 and case.chance(0.4):
        text = text_of(trees[0])
        mapped, told, named = cm.Map(text), f"cm.Map({text!r})", True
    else:
        functions = [traced(tree, count) for tree in trees]
        names = ", ".join(f"x{k}" for k in range(count))
        function = eval(f"lambda {names}: tuple(f({names}) for f in fs)" if outputs > 1 else f"lambda {names}: fs[0]({names})", {"fs": functions})
        mapped, told, named = cm.Map(function), f"cm.Map(lambda {names}: {[text_of(t) for t in trees]})", False
    scalars = [case.chance(0.2) for _ in range(count)]

    def run(case: Case) -> None:
        shape: Any = (case.length(),) if case.chance(0.8) else (case.below(40), case.below(60))
        xs = [plain(case, dtype, () if scalar and k else shape) for k, scalar in enumerate(scalars)]
        given = [dressed(case, x, f"x{k}") for k, x in enumerate(xs)]
        case.note(told)
        how = case.how()
        arguments = {f"x{k}": g for k, g in enumerate(given)} if named else {}
        if named:  # a string takes the names that it reads
            arguments = {name: g for name, g in arguments.items() if name in text_of(trees[0])}
        if named and not any(np.ndim(on_host(g)) for g in arguments.values()):
            return  # no vector gives the length
        call = (lambda **k: mapped(**arguments, **k)) if named else (lambda **k: mapped(*given, **k))
        read = list(arguments.values()) if named else given
        got = results(case, call, read, how)
        for one, tree in zip(got, trees, strict=True):
            wanted = expected(tree, [np.broadcast_to(x, shape) for x in xs])
            if isinstance(wanted, Near):
                wanted.check(one)
            else:
                assert_same(one, wanted)

    return run


def promoted(case: Case) -> Shape:
    """Two dtypes, a NumPy scalar or a weak number among them: the dtype and the values of NumPy's promotion."""
    dtypes = case.home.dtypes("iufc")
    first, second = case.one(dtypes), case.one(dtypes)
    operation = case.one(["add", "sub", "mul"])
    weak = case.chance(0.25)
    mapped = cm.Map(lambda a, b: TRACED[operation](a, b))

    def run(case: Case) -> None:
        length = case.length(5000)
        x = values(case.rng, first, length)
        y: Any = case.one([2, 3, 7]) if weak else values(case.rng, second, () if case.chance(0.3) else length)
        wanted = np.result_type(first) if weak else np.result_type(first, second)
        kinds = {first.kind, second.kind}
        if not weak and ((kinds == {"i", "u"} and np.dtype("u8") in (first, second)) or wanted not in case.home.dtypes("iufc")):
            return  # refused: uint64 beside a signed integer, float64 without hardware
        case.note(f"cm.Map({operation}) of {first} and {'a number' if weak else second}")
        given = [dressed(case, x, "x"), y if weak else dressed(case, y, "y")]
        (got,) = results(case, lambda **k: mapped(*given, **k), [given[0]] if weak else given, case.how())
        assert got.dtype == wanted, (got.dtype, wanted)
        with np.errstate(all="ignore"):
            a, b = x.astype(wanted), np.asarray(y).astype(wanted)
            right = evaluated((operation, ("x", 0), ("x", 1)), [a, np.broadcast_to(b, a.shape)], TRACED)
        if wanted.kind in "iu":
            assert_same(got, right)
        else:
            size = np.abs(a.astype(np.clongdouble)) * np.abs(b.astype(np.clongdouble)) if operation == "mul" else np.abs(a) + np.abs(b)
            small = float(np.finfo(wanted).tiny)
            inside = size < float(np.finfo(wanted).max) / 4
            wide_right = evaluated((operation, ("x", 0), ("x", 1)), [a.astype(np.clongdouble), b.astype(np.clongdouble)], TRACED)
            far = 4 * unit(wanted) * size + small
            assert_near(got[inside], (wide_right if wanted.kind == "c" else wide_right.real)[inside], far[inside].astype(float))

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
        given = dressed(case, x)
        how = {**case.how(tiles=True), "accumulate": accumulate}
        if case.chance(0.1):
            how["finish"] = "host"
        case.note(f"cm.Reduce({name!r})(x, accumulate={accumulate!r}, mode={how['mode']!r})")
        (got,) = results(case, lambda **k: reduce(given, **k), [given], how)
        if x.size == 0:
            assert_same(got, identity_of(name, dtype))
        elif name == "logsumexp":
            near_logsumexp(x, got)
        else:
            check_reduced(name, x, got, accumulate, case.home.fp64)

    return run


def scan(case: Case) -> Shape:
    name = case.one(REDUCTIONS)
    dtype = drawn_dtype(case, "biufff")
    exclusive = not name.startswith("arg") and case.chance(0.4)
    scanned = cm.Scan(name, exclusive=exclusive)

    def run(case: Case) -> None:
        x = numbers_for(case, name, dtype, (case.length(),), special=False)
        given = dressed(case, x)
        how = case.how(tiles=True)
        case.note(f"cm.Scan({name!r}, exclusive={exclusive})(x, mode={how['mode']!r})")
        (got,) = results(case, lambda **k: scanned(given, **k), [given], how)
        assert got.shape == x.shape
        if exclusive and x.size:
            assert_same(got[0], identity_of(name, dtype))
            prefixes_of(name, x[:-1], got[1:])
        else:
            prefixes_of(name, x, got)

    return run


def partials(case: Case) -> Shape:
    name = case.one(["sum", "product", "minimum", "maximum", "any", "all", "argmin", "argmax"])
    dtype = drawn_dtype(case, "biufff")
    kept_by = cm.Partials(name)

    def run(case: Case) -> None:
        x = numbers_for(case, name, dtype, (case.length(100_003),), special=False)
        given = dressed(case, x)
        how = case.how()
        case.note(f"cm.Partials({name!r})(x, mode={how['mode']!r}).prefix")
        kept = kept_by(given, **how)
        every = on_host(kept.prefix(mode=how["mode"]))
        assert len(kept) == x.size and every.shape == (x.size + 1,)
        if not name.startswith("arg"):
            assert_same(every[0], identity_of(name, dtype))
        prefixes_of(name, x, every[1:])
        asked = case.rng.integers(0 if not name.startswith("arg") else min(1, x.size), x.size + 1, case.one([(), (1,), (33,), (5, 7)]))
        asked = asked.astype(case.one(["i8", "i4", "u2"]))
        assert_same(on_host(kept.prefix(asked, mode=how["mode"])), every[asked.astype("i8") & 0xFFFF if asked.dtype == "u2" else asked])

    return run


def unfold(case: Case) -> Shape:
    name = case.one(["index", "sum", "product", "minimum", "maximum", "any", "all"])
    dtype = drawn_dtype(case, "iuffc" if name in ("sum", "product") else "biuff")
    unfolded = cm.Unfold(name)

    def run(case: Case) -> None:
        length, how = case.length(), case.how(tiles=True)
        case.note(f"cm.Unfold({name!r})(…, {length}, mode={how['mode']!r}), {dtype}")
        if name == "index":
            (got,) = results(case, lambda **k: unfolded(length, **k), [], how)
            assert_same(got, np.arange(length))
            return
        base = numbers_for(case, name, dtype, (1,), special=False)[0]
        if name == "product" and dtype.kind in "fc":
            base = dtype.type(base / abs(base) * (1 + case.rng.uniform(-1, 1) / max(length, 1)))
        if name == "sum" and dtype == np.float16:
            base = dtype.type(np.clip(base, -1, 1) * 0.05)
        given: Any = cm.array(np.asarray(base), case.home.context) if case.chance(0.2) else base
        (got,) = results(case, lambda **k: unfolded(given, length, **k), [given], how)
        assert got.dtype == dtype and got.shape == (length,)
        if name in ("sum", "product") and dtype.kind in "iu":
            ufunc = np.add if name == "sum" else np.multiply
            assert_same(got, ufunc.accumulate(np.full(length, base, dtype), dtype=dtype))
        elif name in ("any", "all"):
            assert_same(got, np.full(length, base != 0).astype(dtype))
        elif name in ("sum", "product"):
            _near_powers(name, base, dtype, length, got, case.home.fp64)
        else:
            assert_same(got, np.full(length, base, dtype))

    return run


def _near_powers(name: str, base: Any, dtype: Any, length: int, got: Any, fp64: bool) -> None:
    extended = np.clongdouble if dtype.kind == "c" else np.longdouble
    place = np.arange(1, length + 1)
    with np.errstate(all="ignore"):
        exact = extended(base) * place if name == "sum" else np.multiply.accumulate(np.full(length, base, extended))
        far = 4 * unit(dtype) * np.abs(exact) if name == "sum" else product_tolerance(dtype, exact, 2 * length, fp64)
    far = np.asarray(far, float) + float(np.finfo(dtype).tiny)
    inside = np.abs(exact) < float(np.finfo(wide(dtype)).max) / 4
    assert_near(got[inside], exact[inside], far[inside])


FAMILIES = {"map": map_, "promoted": promoted, "reduce": reduce_, "scan": scan, "partials": partials, "unfold": unfold}
