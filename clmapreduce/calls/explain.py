"""Plans in words and as pictures: mode, scope and reason, then each launch with what it reads and writes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clmapreduce.calls.drawing import drawing_of
from clmapreduce.domain.line import Window
from clmapreduce.errors import ArgumentError
from clmapreduce.notebook import columns
from clmapreduce.plan import IN_FLIGHT, Plan, Stage


class Explanation(str):
    """How a call would run, as text that also draws itself: `svg()`, `save("plan.svg")`, and in notebooks."""

    _title: str
    _head: str
    _stages: tuple[Stage, ...]
    _sizes: Mapping[str, int]

    def __new__(
        cls, text: str, title: str, head: str = "", stages: Sequence[Stage] = (), sizes: Mapping[str, int] | None = None
    ) -> Explanation:
        own = super().__new__(cls, text)
        own._title, own._head, own._stages, own._sizes = title, head, tuple(stages), dict(sizes or {})
        return own

    def __reduce__(self) -> Any:
        return str, (str(self),)

    def headed(self, title: str) -> Explanation:
        """With a line in front, which is the picture's title."""
        return Explanation(f"{title}\n{self}", title, self._head, self._stages, self._sizes)

    def svg(self) -> str:
        """The plan as SVG: arrays, launches, bytes on the edges between them. It loads nothing."""
        return drawing_of(self._title, self._head, self._stages, self._sizes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `svg()` to a file. Raises ArgumentError where none can be written."""
        try:
            Path(path).write_text(self.svg(), encoding="utf-8")
        except (OSError, TypeError, ValueError) as error:
            raise ArgumentError(f"a picture cannot be written to {path!r}; name a file: {error}") from error

    def _repr_html_(self) -> str:
        """What a notebook shows: launches as a table, and the picture."""
        rows = [
            (number, _arrays(stage.reads, self._sizes), "→", stage.spec.kernel,
             f"{_groups(stage.groups)} of {stage.group_size}", "→", _arrays(stage.writes, self._sizes))
            for number, stage in enumerate(self._stages, 1)
        ]  # fmt: skip
        heads = ("launch", "reads", "", "kernel", "groups", "", "writes")
        return f"<div>{columns(self._title, heads, rows, self._head)}{self.svg()}</div>"


def no_launch(why: str) -> Explanation:
    """Of a call that has nothing to launch."""
    text = f"no launch: {why}"
    return Explanation(text, text)


def explained(plan: Plan, sizes: Mapping[str, int], devices: int = 0) -> Explanation:
    """The plan as lines of text. sizes: bytes of every array by name. devices: on which the arrays lie, if on several.
    """
    lines = [f"mode {plan.mode.name.lower()}, scope {plan.scope.name}: {plan.why}"]
    if devices:
        passes = sum(plan.stages[numbers[0]].share > 0 for numbers in plan.passes)
        lines.append(
            f"  on {devices} devices: each computes the stretch of the line that it holds, {passes} "
            f"pass{'' if passes == 1 else 'es'}; what groups leave goes to the first"
        )
    elif plan.window is not None:
        lines.append(_streamed(plan, plan.window, sizes))
    head = "\n".join(lines)
    for number, stage in enumerate(plan.stages, 1):
        counts = ", ".join(f"{a[0]} {a[1]}" for a in stage.arguments if not isinstance(a, str))
        lines.append(f"  stage {number}: {stage.spec.kernel}, {_groups(stage.groups)} of {stage.group_size} ({counts})")
        lines.append(f"    reads {_arrays(stage.reads, sizes)}; writes {_arrays(stage.writes, sizes)}")
    read = sum(sizes.get(name, 0) for stage in plan.stages for name in stage.reads)
    out_bytes = sum(sizes.get(name, 0) for stage in plan.stages for name in stage.writes)
    lines.append(f"  {_jobs(plan.stages)}; {_bytes(read)} read, {_bytes(out_bytes)} written")
    return Explanation("\n".join(lines), "", head, plan.stages, sizes)


def _streamed(plan: Plan, window: Window, sizes: Mapping[str, int]) -> str:
    """How host arrays pass through device memory."""
    each = {**{name: nbytes // window.entries for name, nbytes in sizes.items()}, **plan.stored}
    passes = [plan.windowed(numbers) for numbers in plan.passes if plan.stages[numbers[0]].share]
    in_flight = min(IN_FLIGHT, window.count)
    nbytes = in_flight * window.length * max(sum(each[name] for name in names) for names in passes)
    what = "rows" if window.of_rows else "elements"
    return (
        f"  streamed: {window.count:,} tile{'' if window.count == 1 else 's'} of {window.length:,} {what}, "
        f"{in_flight} in flight ({_bytes(nbytes)}), {len(passes)} pass{'' if len(passes) == 1 else 'es'} over the host "
        f"arrays; copies overlap launches, on queues of their own{'; devices share the tiles' if window.shared else ''}"
    )


def _jobs(stages: Sequence[Stage]) -> str:
    return f"{len(stages)} job{'' if len(stages) == 1 else 's'}"


def _groups(count: int) -> str:
    return f"{count} group{'' if count == 1 else 's'}"


def _arrays(names: Sequence[str], sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({_bytes(sizes[name])})" if name in sizes else name for name in names) or "nothing"


def _bytes(count: int) -> str:
    return f"{count:,} byte{'' if count == 1 else 's'}"
