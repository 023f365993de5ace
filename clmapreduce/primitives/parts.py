"""Chains by `>>`: a function of vectors that calls primitives one after the other."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Sequence
from typing import Any

from clmapreduce.errors import ClMapReduceError, ModeError
from clmapreduce.formula.trace import as_value, call
from clmapreduce.functions.snapshots import Internable
from clmapreduce.modes import ASKS, names_of
from clmapreduce.primitives.map import Map
from clmapreduce.primitives.recurrences.starts import based
from clmapreduce.primitives.unfold import Unfold
from clmapreduce.program.program import varies
from clmapreduce.program.step import Step


class Parts(Internable):
    """A chain of primitives. Each takes the result of the one before it.

    A Map behind a Reduce gets the reduced value; one that takes more arguments also gets, after it, the vectors that
    were reduced: `Map(f) >> Reduce("maximum") >> Map(lambda top, x: exp(x - top))`. An Unfold behind a Reduce starts
    from the reduced value, and gives as many elements as were reduced.
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = tuple(parts)

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.parts))

    def key(self) -> Hashable | None:
        keys = [part.key() for part in self.parts]
        return None if None in keys else (Parts, *keys)

    def snapshot(self) -> Parts:
        return Parts([part.snapshot() for part in self.parts])

    def arguments(self, values: Sequence[Any], length: int | None) -> tuple[Sequence[Any], int | None]:
        """(values, length) of a call: an Unfold in front takes the length as its last argument."""
        first = self.parts[0]
        if not isinstance(first, Unfold):
            return values, length
        base, named = first.split(values)
        if length not in (None, named):
            raise ModeError(f"step 1, {first!r}, is given the length {named}, and length={length}")
        if first.counts:
            return [], named
        return [based(base, None) if isinstance(base, (bool, int, float, complex)) else base], named

    def __call__(self, *values: Any) -> Any:
        current: tuple[Any, ...] = values
        behind: tuple[Any, ...] = ()
        before: Any = None
        for number, part in enumerate(self.parts, 1):
            what = f"step {number}, {part!r}"
            try:
                if isinstance(current, tuple) and len(current) == 1 and isinstance(current[0], Step):
                    raise ModeError(
                        f"{what} asks for {names_of(ASKS[_kind(part)])}; {before!r} before it gives an object of kept "
                        "partials, which offers none: let it end the pipeline"
                    )
                current, behind = _after(part, current, behind)
            except ClMapReduceError as error:
                raise _placed(error, number, part) from None
            before = part
        return current if len(current) > 1 else current[0]


def _placed(error: ClMapReduceError, number: int, part: Any) -> ClMapReduceError:
    """The error with the step that it arose in."""
    text, place = str(error), f"step {number}, "
    if text.startswith("step "):
        return error
    return type(error)(place + text if text.startswith(repr(part)) else f"{place}{part!r}: {text}")


def _after(part: Any, current: tuple[Any, ...], behind: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """(values, vectors behind them) after a part."""
    if isinstance(part, Map):
        arguments = (
            current if takes(part, len(current)) or not takes(part, len(current) + len(behind)) else current + behind
        )
        result = call(part.function, arguments, repr(part))
        values = tuple(_output(v) for v in (result if isinstance(result, tuple) else (result,)))
        return values, () if any(_varies(value) for value in values) else behind
    if isinstance(part, Unfold):
        return (part.traced(*current),), ()
    result = part(*current)
    values = result if isinstance(result, tuple) else (result,)
    reduces = not isinstance(result, Step) and not any(_varies(value) for value in values)
    return values, (current if any(_varies(value) for value in current) else behind) if reduces else ()


def _output(value: Any) -> Any:
    """A map's output; a plain number stays one, because such numbers take the dtype of what they meet."""
    return value if isinstance(value, (bool, int, float, complex)) else as_value(value, "the map")


def takes(part: Map, count: int) -> bool:
    """Whether the function of a map takes so many arguments."""
    if part.expression is not None:
        return len(part.expression.names) == count
    try:
        inspect.signature(part.function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a builtin tells nothing
        return True
    return True


def _varies(value: Any) -> bool:
    return varies(as_value(value, "a map"))


def _kind(part: Any) -> str:
    return type(part).__name__.lower()
