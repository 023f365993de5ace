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

Told = Callable[[str, BaseException], dict[str, Any]]
"""(kind, error) → a finding."""


def run(family: str, seed: int, home: Home, finding: Told) -> dict[str, Any] | None:
    """The finding of one wrong call: an error that is not the library's, a result that it must not give, or a right
    call that is wrong afterwards.
    """
    call, rng = {**CALLS, **PLANTED}[family], streams(family, seed)[1]
    given = {name: _fresh(value) for name, value in call.good.items()}
    names = list(given)
    changed = {names[int(rng.integers(len(names)))] for _ in range(int(rng.choice([1, 1, 1, 2])))}
    if family == "environment":
        changed, given = set(given), environment.drawn(rng, hostile_string)
    else:
        for name in sorted(changed):
            given[name] = hostile(rng, given[name])
    notes = [f"{family}, with {name} = {told(given[name])}" for name in sorted(changed)]
    found: dict[str, Any] | None = None
    try:
        result = call.make(**given)
        if not _is(result, call.wanted):
            found = _taken(call, given, result, sorted(changed), family)
    except cm.ClMapReduceError:
        pass
    except Exception as error:
        found = finding("error", error)
    if found is not None or rng.random() < 0.3:
        found = _right_again(call, home, finding) or found
    if found is not None:
        found["notes"] = notes
    return found


def _fresh(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _right_again(call: Call, home: Home, finding: Told) -> dict[str, Any] | None:
    try:
        result = call.make(**{name: _fresh(value) for name, value in call.good.items()})
    except Exception as error:
        return finding("after", error)
    if _is(result, call.wanted):
        return None
    return {"kind": "after", "what": f"a right call gives {told(result)}, not {told(call.wanted)}", "where": ""}


def _taken(call: Call, given: dict[str, Any], result: Any, changed: list[str], family: str) -> dict[str, Any] | None:
    """A result that is not that of the right call: what NumPy makes of the same arguments, or taken silently."""
    masked = any(isinstance(given[name], np.ma.MaskedArray) for name in changed)
    if call.same is None and not masked:
        return None
    try:
        wanted = None if call.same is None else call.same(**given)
    except Exception as error:
        wanted = error
    if wanted is not None and not isinstance(wanted, Exception) and _is(result, wanted):
        return None
    why = "a masked array" if masked else f"NumPy has {told(wanted)}"
    return {"kind": "taken", "what": f"{family} of {', '.join(changed)} gives {told(result)}; {why}", "where": f"{family} {', '.join(changed)} {type(given[changed[0]]).__name__}"}


def _is(result: Any, wanted: Any) -> bool:
    """Whether it is that, to seven digits of the largest."""
    if isinstance(wanted, tuple):
        return isinstance(result, tuple) and len(result) == len(wanted) and all(map(_is, result, wanted))
    try:
        if isinstance(wanted, bool):
            return result is wanted
        made = result.to_numpy() if isinstance(result, cm.DeviceArray) else np.asarray(result)
        wanted = np.asarray(wanted)
        if made.shape != wanted.shape or made.dtype.kind not in "biufc":
            return False
        with np.errstate(all="ignore"):
            far = 2e-4 * (1 + np.abs(wanted[np.isfinite(wanted)]).max(initial=0))
            same = (made == wanted) | (np.isnan(made) & np.isnan(wanted))
            return bool((same | (np.abs(made - wanted) <= far)).all())
    except (TypeError, ValueError):
        return False


def told(value: Any) -> str:
    """A value in one short line."""
    try:
        text = f"array({value.dtype}, {value.shape})" if isinstance(value, np.ndarray) and value.size > 8 else repr(value)
    except Exception as error:
        text = f"a {type(value).__name__} whose repr raises {type(error).__name__}"
    text = " ".join(text.encode("ascii", "backslashreplace").decode().split())
    return text if len(text) < 160 else f"{text[:120]}… ({len(text)} characters)"
