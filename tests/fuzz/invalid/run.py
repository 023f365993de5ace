"""Makes a wrong call, looks at how it ends, and makes a right one behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz.case import Home, streams
from fuzz.invalid import environment
from fuzz.invalid.call import Call
from fuzz.invalid.calls import CALLS
from fuzz.invalid.hostile import hostile
from fuzz.invalid.planted import PLANTED
from fuzz.invalid.strings import hostile_string

import clmapreduce as cm

Report = Callable[[str, BaseException], dict[str, Any]]
"""(kind, error) → a finding."""


def run(family: str, seed: int, home: Home, finding: Report) -> dict[str, Any] | None:
    """The finding of one wrong call: an error that is not the library's, a result that it must not give, or a right
    call that is wrong afterwards.
    """
    call, rng = {**CALLS, **PLANTED}[family], streams(family, seed)[1]
    arguments = {name: _fresh(value) for name, value in call.good.items()}
    names = list(arguments)
    odd_names = {names[int(rng.integers(len(names)))] for _ in range(int(rng.choice([1, 1, 1, 2])))}
    if family == "environment":
        odd_names, arguments = set(arguments), environment.random_environment(rng, hostile_string)
    else:
        for name in sorted(odd_names):
            arguments[name] = hostile(rng, arguments[name])
    notes = [f"{family}, with {name} = {short(arguments[name])}" for name in sorted(odd_names)]
    report: dict[str, Any] | None = None
    try:
        result = call.make(**arguments)
        if not _is(result, call.expected):
            report = _silent_result(call, arguments, result, sorted(odd_names), family)
    except cm.ClMapReduceError:
        pass
    except Exception as error:
        report = finding("error", error)
    if report is not None or rng.random() < 0.3:
        report = _right_again(call, home, finding) or report
    if report is not None:
        report["notes"] = notes
    return report


def _fresh(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _right_again(call: Call, home: Home, finding: Report) -> dict[str, Any] | None:
    try:
        result = call.make(**{name: _fresh(value) for name, value in call.good.items()})
    except Exception as error:
        return finding("after", error)
    if _is(result, call.expected):
        return None
    return {"kind": "after", "what": f"a right call gives {short(result)}, not {short(call.expected)}", "where": ""}


def _silent_result(call: Call, arguments: dict[str, Any], result: Any, odd_names: list[str], family: str) -> dict[str, Any] | None:
    """Judges a result that differs from the right call's: None where NumPy has the same one, else a finding "taken"."""
    has_mask = any(isinstance(arguments[name], np.ma.MaskedArray) for name in odd_names)
    if call.same is None and not has_mask:
        return None
    try:
        expected = None if call.same is None else call.same(**arguments)
    except Exception as error:
        expected = error
    if expected is not None and not isinstance(expected, Exception) and _is(result, expected):
        return None
    why = "a masked array" if has_mask else f"NumPy has {short(expected)}"
    return {"kind": "taken", "what": f"{family} of {', '.join(odd_names)} gives {short(result)}; {why}", "where": f"{family} {', '.join(odd_names)} {type(arguments[odd_names[0]]).__name__}"}


def _is(result: Any, expected: Any) -> bool:
    """Whether it is that, to seven digits of the largest."""
    if isinstance(expected, tuple):
        return isinstance(result, tuple) and len(result) == len(expected) and all(map(_is, result, expected))
    try:
        if isinstance(expected, bool):
            return result is expected
        array = result.to_numpy() if isinstance(result, cm.DeviceArray) else np.asarray(result)
        expected = np.asarray(expected)
        if array.shape != expected.shape or array.dtype.kind not in "biufc":
            return False
        with np.errstate(all="ignore"):
            far = 2e-4 * (1 + np.abs(expected[np.isfinite(expected)]).max(initial=0))
            same = (array == expected) | (np.isnan(array) & np.isnan(expected))
            return bool((same | (np.abs(array - expected) <= far)).all())
    except (TypeError, ValueError):
        return False


def short(value: Any) -> str:
    """A value in one short line."""
    try:
        text = f"array({value.dtype}, {value.shape})" if isinstance(value, np.ndarray) and value.size > 8 else repr(value)
    except Exception as error:
        text = f"a {type(value).__name__} whose repr raises {type(error).__name__}"
    text = " ".join(text.encode("ascii", "backslashreplace").decode().split())
    return text if len(text) < 160 else f"{text[:120]}… ({len(text)} characters)"
