"""Users' operators, on numbers and on records; maps of records with arrays in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz.case import Case, Shape
from fuzz.families.segments import lengths
from fuzz.inputs import in_some_form, on_host, results
from support.oracles import assert_same, values
from support.random_segments import offsets_of, slices

import clmapreduce as cm

WORD = 1 << 32
AFFINE = np.dtype([("a", "u4"), ("b", "u4")])
SPAN = np.dtype([("seen", "?"), ("first", "i8"), ("last", "i2")])

Combine = Callable[[Any, Any], Any]

AFFINE_OPERATOR = cm.Operator(
    lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}, (1, 0), AFFINE, commutative=False, name="affine"
)
SPAN_OPERATOR = cm.Operator(
    lambda x, y: {
        "seen": x["seen"] | y["seen"], "first": cm.where(x["seen"], x["first"], y["first"]), "last": cm.where(y["seen"], y["last"], x["last"]),
    }, (False, 0, 0), commutative=False, name="span",
)  # fmt: skip


def _affine(f: Any, g: Any) -> Any:
    return f[0] * g[0] % WORD, (f[1] * g[0] + g[1]) % WORD


def _span(x: Any, y: Any) -> Any:
    return x[0] or y[0], x[1] if x[0] else y[1], y[2] if y[0] else x[2]


RECORDS: dict[str, tuple[Any, Combine, Any, np.dtype[Any]]] = {
    "affine": (AFFINE_OPERATOR, _affine, (1, 0), AFFINE), "span": (SPAN_OPERATOR, _span, (False, 0, 0), SPAN),
}  # fmt: skip
NUMBERS: dict[str, tuple[Any, Combine]] = {
    "either": (cm.Operator(lambda a, b: a + b + a * b, 0, name="either"), lambda a, b: a + b + a * b),
    "last": (cm.Operator(lambda a, b: cm.where(b == 0, a, b), 0, commutative=False, name="last"), lambda a, b: a if b == 0 else b),
    "parity": (cm.Operator(lambda a, b: a ^ b, 0, name="parity"), lambda a, b: a ^ b),
}  # fmt: skip


def _walk(case: Case, operator: Any, x: Any, prefixes: Callable[[Any], Any], description: str) -> None:
    """Reduces, scans or partials of x, or segments of it. prefixes: identity, then every prefix of some values."""
    form = case.one(["reduce", "scan", "exclusive", "partials", "segments"])
    how = case.how(tiles=form in ("reduce", "scan"))
    argument = in_some_form(case, x)
    case.note(f"{form} by {description}, mode={how['mode']!r}")
    if form == "segments":
        offsets = offsets_of(lengths(case, len(x)))
        offsets = np.append(offsets, len(x))
        (result,) = results(case, lambda **k: cm.segmented_reduce(argument, offsets, operator, **k), [argument], how)
        return assert_same(result, np.array([prefixes(x[part])[-1] for part in slices(offsets)], x.dtype))
    every = prefixes(x)
    if form == "partials":
        sums = cm.Partials(operator)(argument, **how)
        return assert_same(on_host(sums.prefix(mode=how["mode"])), every)
    primitive: Any = cm.Reduce(operator) if form == "reduce" else cm.Scan(operator, exclusive=form == "exclusive")
    (result,) = results(case, lambda **k: primitive(argument, **k), [argument], how)
    return assert_same(result, every[-1] if form == "reduce" else every[:-1] if form == "exclusive" else every[1:])


def records(case: Case) -> Shape:
    """Operators that do not commute, on records packed or aligned."""
    name = case.one(list(RECORDS))
    operator, loop, identity, dtype = RECORDS[name]
    layout = np.dtype([(n, dtype[n]) for n in dtype.names], align=case.chance(0.5))

    def prefixes(x: Any) -> Any:
        values_so_far = [identity]
        for item in x.tolist():
            values_so_far.append(loop(values_so_far[-1], item))
        return np.array(values_so_far, layout)

    def run(case: Case) -> None:
        x = values(case.rng, layout, case.length(1100))
        if name == "span":
            x["seen"] = case.rng.random(len(x)) < 0.2
            x[~x["seen"]] = np.zeros((), layout)
        _walk(case, operator, x, prefixes, name)

    return run


def numbers(case: Case) -> Shape:
    """Operators on integers, which wrap."""
    name = case.one(list(NUMBERS))
    operator, loop = NUMBERS[name]
    dtype = case.one([d for d in case.home.dtypes("iu") if d.itemsize > 1])

    def prefixes(x: Any) -> Any:
        values_so_far = [dtype.type(0)]
        with np.errstate(over="ignore"):
            for item in x:
                values_so_far.append(dtype.type(loop(values_so_far[-1], item)))
        return np.array(values_so_far, dtype)

    def run(case: Case) -> None:
        x = values(case.rng, dtype, case.length(1100))
        if name == "last" or case.chance(0.3):
            x = x * (case.rng.random(len(x)) < 0.1).astype(dtype)
        _walk(case, operator, x, prefixes, name)

    return run


def structures(case: Case) -> Shape:
    """Maps of records with arrays in them, to records and to numbers; whole numbers, which are exact."""
    fields = [("a", case.one(["i1", "i4", "u8"])), ("m", case.one(["i4", "i8"]), (2, 2)), ("v", "u2", (3,)), ("t", "?")]
    order = case.rng.permutation(len(fields))
    dtype = np.dtype([fields[int(k)] for k in order], align=case.chance(0.5))
    primitive = cm.Map(lambda r, s: {"a": r["a"] + s["a"], "m": r["m"] @ s["m"] - r["m"], "v": r["v"] * s["v"][0], "t": r["t"] & s["t"]})

    def run(case: Case) -> None:
        length = case.length(3000)
        r, s = values(case.rng, dtype, length), values(case.rng, dtype, length)
        arguments = [in_some_form(case, r, "r"), in_some_form(case, s, "s")]
        how = case.how()
        case.note(f"cm.Map of records {dtype.descr}, mode={how['mode']!r}")
        (result,) = results(case, lambda **k: primitive(*arguments, **k), arguments, how)
        with np.errstate(over="ignore"):
            expected = {"a": r["a"] + s["a"], "m": r["m"] @ s["m"] - r["m"], "v": r["v"] * s["v"][:, :1], "t": r["t"] & s["t"]}
        for name, field in expected.items():
            assert_same(result[name], field, name)

    return run


FAMILIES = {"records": records, "numbers": numbers, "structures": structures}
