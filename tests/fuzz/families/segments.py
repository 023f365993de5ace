"""Segments, runs of equal keys and sparse matrices, by calls and plans."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from fuzz.case import Case, Shape
from fuzz.expressions import drawn_tree, expected, function_of, text_of
from fuzz.families.lines import drawn_dtype, plain
from fuzz.inputs import in_some_form, on_host, results
from fuzz.near import Near
from fuzz.stretches import LONGEST, check_stretches
from fuzz.whole import identity_of, numbers_for
from support.oracles import assert_same, tolerance, unit, values, wide
from support.random_segments import BATCHES, CHUNKS, EDGES, offsets_of

import clmapreduce as cm

NAMES = ("sum", "sum", "product", "minimum", "maximum", "any", "all", "argmin", "argmax", "logsumexp", "mean", "var", "std")
SHAPES = {**EDGES, **CHUNKS, **BATCHES}


def lengths(case: Case, most: int) -> np.ndarray[Any, Any]:
    """Of a few or many segments, `most` elements at most."""
    draw = case.rng.random()
    if draw < 0.15:
        sizes = np.asarray(SHAPES[case.one(list(SHAPES))](case.rng), np.int64)
    elif draw < 0.8:
        parts = [np.full(case.one([1, 1, 2, 15, 63, 100]), case.one([0, 0, 1, 2, 3, 8, 16, 17, 33, 61, 64, 65])) for _ in range(case.below(8))]
        parts += [np.full(1, case.below(1500)) for _ in range(case.below(3))]
        case.rng.shuffle(parts)  # type: ignore[arg-type]
        sizes = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
    else:
        sizes = case.rng.integers(0, case.one([2, 8, 40]), case.below(300))
    total = np.cumsum(sizes)
    return sizes[: int(np.searchsorted(total, most, "right"))]


def empty_of(name: str, dtype: np.dtype[Any]) -> Any:
    """What a segment of nothing gives by default."""
    if name in ("argmin", "argmax"):
        return np.int64(-1)
    if name in ("mean", "var", "std"):
        return None
    return identity_of(name, dtype)


def check_near(name: str, terms: Near, offsets: Any, result: Any) -> None:
    """Asserts sums or extrema of stretches of terms that may be off themselves; those of nothing give the identity."""
    full = offsets[1:] > offsets[:-1]
    assert_same(result[~full], np.broadcast_to(identity_of(name, terms.dtype), result[~full].shape))
    if not full.any():
        return
    begins = offsets[:-1][full]
    if name == "sum":
        value, far = np.add.reduceat(terms.value, begins, 0), np.add.reduceat(terms.far, begins, 0)
        size = np.add.reduceat(np.abs(terms.value) + terms.far, begins, 0)
        far = far * 1.001 + tolerance(terms.dtype, value, size, min(len(terms.value), LONGEST), "fast")
    else:
        value = getattr(np, name).reduceat(terms.value, begins, 0)
        far = np.maximum.reduceat(terms.far, begins, 0)
    Near(value, far, terms.dtype).check(result[full])


def segments(case: Case) -> Shape:
    """segmented_reduce and SegmentPlan: offsets, starts, sources, init, empty."""
    name = case.one(NAMES)
    dtype = drawn_dtype(case, "iufff" if name in ("mean", "var", "std") else "biufff")
    if dtype == np.float16 and name in ("var", "mean", "std", "sum"):
        dtype = np.dtype("f4")
    trailing = case.one([(), (), (), (), (3,), (2, 2)])
    through, with_plan = case.chance(0.25), case.chance(0.3)
    kind = case.one(["i4", "i8", "i8", "u2", "i2"])
    with_empty = case.chance(0.3) and dtype.kind in "iuf" and name in ("sum", "minimum", "maximum")

    def run(case: Case) -> None:
        most = 30_000 if case.chance(0.03) else 3000
        sizes = lengths(case, min(most, np.iinfo(kind).max) // (1 if not trailing else 4))
        offsets = offsets_of(sizes, kind)
        count = int(offsets[-1])
        elements = count if not through else max(int(sizes.max(initial=0)), case.below(2 * count + 2))
        x = numbers_for(case, name, dtype, (elements, *trailing), special=False)
        more: dict[str, Any] = {}
        read = x
        if through:
            sources = np.array([case.rng.integers(0, elements - n + 1) for n in sizes], case.one(["i4", "i8"]))
            more["sources"] = in_some_form(case, sources, "sources")
            read = x[np.concatenate([np.zeros(0, np.int64), *(np.arange(s, s + n) for s, n in zip(sources, sizes, strict=True))])]
        empty = empty_of(name, dtype)
        how = case.how()
        keywords: dict[str, Any] = {}
        if with_empty:
            keywords["empty"] = case.below(100)
            empty = (wide(dtype) if name == "sum" else dtype).type(keywords["empty"])
        argument, cuts = in_some_form(case, x, "values"), in_some_form(case, offsets, "offsets")
        starts = not through and len(sizes) and case.chance(0.15)
        if starts:
            cuts = in_some_form(case, offsets[:-1], "starts")
            more["starts"] = True
        case.note(f"cm.segmented_reduce(values, offsets, {name!r}, {keywords}, {sorted(more)}), plan: {with_plan}, mode={how['mode']!r}")
        if with_plan:
            plan = cm.SegmentPlan(cuts, elements, **more, **how)
            del how["context"]
            (result,) = results(case, lambda **k: plan.reduce(argument, name, **keywords, **k), [argument], how)
        else:
            arrays = [argument, cuts, *([more["sources"]] if through else [])]
            (result,) = results(case, lambda **k: cm.segmented_reduce(argument, cuts, name, **keywords, **more, **k), arrays, how)
        check_stretches(name, read, offsets, result, empty, case.home.fp64)

    return run


def mapped_segments(case: Case) -> Shape:
    """Sums and extrema of a random formula of two or three arrays, fused in front."""
    dtype, count = drawn_dtype(case, "iufff"), case.below(4, 2)
    if dtype == np.float16:
        dtype = np.dtype("f4")
    name = case.one(["sum", "minimum", "maximum"])
    tree = drawn_tree(case.rng, dtype.kind, count)
    front = function_of(tree, count)

    def run(case: Case) -> None:
        offsets = offsets_of(lengths(case, 3000))
        xs = [plain(case, dtype, int(offsets[-1])) for _ in range(count)]
        arguments = tuple(in_some_form(case, x, f"x{k}") for k, x in enumerate(xs))
        how = case.how()
        case.note(f"cm.segmented_reduce((x0, …), offsets, {name!r}, map={text_of(tree)!r}, mode={how['mode']!r})")
        (result,) = results(case, lambda **k: cm.segmented_reduce(arguments, offsets, name, map=front, **k), arguments, how)
        reference = expected(tree, xs)
        if isinstance(reference, Near):
            check_near(name, reference, offsets, result)
        else:
            check_stretches(name, reference, offsets, result, identity_of(name, dtype), True)

    return run


def keys(case: Case) -> Shape:
    """reduce_by_key, run_lengths and KeyPlan."""
    name = case.one(NAMES)
    key_type = case.one([d for d in case.home.dtypes("biuf") if d != np.float16])
    dtype = drawn_dtype(case, "iufff" if name in ("mean", "var", "std") else "biufff")
    if dtype == np.float16:
        dtype = np.dtype("f4")
    form = case.one(["call", "call", "lengths", "plan", "device", "last"])

    def run(case: Case) -> None:
        sizes = lengths(case, 20_000 if case.chance(0.03) else 3000)
        sizes = sizes[sizes > 0]
        marks = np.cumsum(case.rng.integers(1, 3, len(sizes)))
        marks = marks % 2 if key_type.kind == "b" else marks % 100
        each = np.repeat(marks, sizes).astype(key_type)
        begins = np.flatnonzero(np.append(True, each[1:] != each[:-1])) if each.size else np.zeros(0, np.int64)
        offsets = np.append(begins, each.size)
        x = numbers_for(case, name, dtype, (each.size,), special=False)
        how = case.how()
        keys, values_ = in_some_form(case, each, "keys"), in_some_form(case, x, "values")
        case.note(f"cm.reduce_by_key(keys, values, {name!r}), {form}, mode={how['mode']!r}")
        if form == "lengths":
            keys_of_runs, counts, starts = (on_host(v) for v in cm.run_lengths(keys, **how))
            assert_same(keys_of_runs, each[begins])
            assert_same(counts, np.diff(offsets))
            assert_same(starts, begins)
            return
        if form == "plan":
            plan = cm.KeyPlan(keys, **how)
            del how["context"]
            keys_of_runs, result = (on_host(v) for v in plan.reduce(values_, name, **how))
        elif form == "device":
            keys_of_runs, result, runs = (on_host(v) for v in cm.reduce_by_key(keys, values_, name, count="device", **how))
            keys_of_runs, result = keys_of_runs[: int(runs)], result[: int(runs)]
        else:
            key = "last" if form == "last" else "first"
            keys_of_runs, result = results(case, lambda **k: cm.reduce_by_key(keys, values_, name, key=key, **k), [keys, values_], how)
        assert_same(keys_of_runs, each[begins])
        check_stretches(name, x, offsets, result, None, case.home.fp64)

    return run


def _semiring(name: str, multiply: str, a: Any, b: Any) -> Any:
    ufuncs = {"product": np.multiply, "sum": np.add, "minimum": np.minimum, "maximum": np.maximum, "first": lambda a, b: a, "second": lambda a, b: b}
    return ufuncs[multiply](a, b)


def spmv(case: Case) -> Shape:
    """Matrices of every format over algebras, by calls and plans."""
    form = case.one(["csr", "csr", "csc", "coo", "arrays", "none", "bsr"])
    multiply = case.one(["product", "product", "sum", "minimum", "maximum", "first", "second"])
    add = case.one(["sum", "sum", "minimum", "maximum"])
    dtype = case.one([np.dtype(c) for c in ("f4", "f4", "i4", "i8") + (("f8",) if case.home.fp64 else ())])
    if form == "none":
        multiply = "second"
    if form in ("bsr",):
        multiply, add = "product", "sum"
    trailing, with_plan = case.one([(), (), (1,), (3,), (16,)]), case.chance(0.4)

    def run(case: Case) -> None:
        sizes = lengths(case, 5000 if case.chance(0.05) else 800)
        indptr = offsets_of(sizes, case.one(["i4", "i8"]))
        rows, size, columns = len(sizes), int(indptr[-1]), case.below(400, 1)
        indices = case.rng.integers(0, columns, size).astype(indptr.dtype)
        data = plain(case, dtype, size) if dtype.kind == "f" else values(case.rng, dtype, size)
        x = plain(case, dtype, (columns, *trailing)) if dtype.kind == "f" else values(case.rng, dtype, (columns, *trailing))
        matrix: Any = (in_some_form(case, indptr, "indptr"), in_some_form(case, indices, "indices"), None if form == "none" else in_some_form(case, data, "data"))
        if form in ("csr", "csc", "coo", "bsr"):
            if rows == 0:
                return
            csr = sparse.csr_array((data, indices.astype("i4"), indptr.astype("i4")), shape=(rows, columns))
            if form != "csr":
                matrix = getattr(csr.tocoo(), f"to{form}")() if form != "coo" else csr.tocoo()
                csr = sparse.csr_array(matrix) if form in ("bsr",) else csr
                if form == "csc":  # duplicates were added up
                    csr = sparse.csr_array(matrix)
                    indptr, indices, data = csr.indptr, csr.indices, csr.data
                elif form in ("bsr",):
                    indptr, indices, data = csr.indptr, csr.indices, csr.data
                sizes = np.diff(indptr)
            else:
                matrix = csr
        argument, how = in_some_form(case, x, "x"), case.how()
        case.note(f"cm.spmv({form} {rows}x{columns}, x, multiply={multiply!r}, add={add!r}), plan: {with_plan}, mode={how['mode']!r}")
        keywords: dict[str, Any] = {"add": add, "multiply": multiply}
        if with_plan:
            plan = cm.SpmvPlan(matrix, **how)
            del how["context"]
            (result,) = results(case, lambda **k: plan.apply(argument, **keywords, **k), [argument], how)
        else:
            arrays = [argument, *(m for m in matrix if m is not None)] if isinstance(matrix, tuple) else [argument]
            (result,) = results(case, lambda **k: cm.spmv(matrix, argument, **keywords, **k), arrays, how)
        assert result.shape == (rows, *trailing), (result.shape, rows)
        with np.errstate(all="ignore"):
            operands = x[indices]
            entries = data.reshape(-1, *(1 for _ in trailing)) if data is not None else None
            kind = np.longdouble if dtype.kind == "f" else dtype
            terms = _semiring(add, multiply, entries.astype(kind) if dtype.kind == "f" else entries, operands.astype(kind) if dtype.kind == "f" else operands)
        terms = np.broadcast_to(terms, operands.shape)
        if dtype.kind == "f":
            if multiply in ("product", "sum"):
                size_ = np.abs(terms) if multiply == "product" else np.abs(entries) + np.abs(operands)
                each = Near(terms, 2 * unit(dtype) * np.asarray(size_, float) + float(np.finfo(dtype).tiny), dtype)
            else:
                each = Near(terms, np.zeros(terms.shape), dtype)
            check_near(add, each, np.append(0, np.cumsum(sizes)), result)
        else:
            check_stretches(add, terms, np.append(0, np.cumsum(sizes)), result, identity_of(add, dtype), True)

    return run


FAMILIES = {"segments": segments, "mapped_segments": mapped_segments, "keys": keys, "spmv": spmv}
