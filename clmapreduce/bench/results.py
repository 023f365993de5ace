"""The results of a run, as data for JSON: the device, the versions, and all times of every row."""

from __future__ import annotations

import datetime
import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import clmapreduce as cm
from clmapreduce.bench.race import Case, Timing

FORMAT = 1
"""Of the JSON; another number where fields change their meaning."""


@dataclass(frozen=True)
class Peer:
    """A peer in one row. ratio: the median over rounds of its time by ours. seconds: its median. failed: why it has
    no times.
    """

    name: str
    ratio: float = 0.0
    seconds: float = 0.0
    error: float = 0.0
    times: list[float] = field(default_factory=list)
    failed: str = ""


@dataclass(frozen=True)
class Row:
    """One row. seconds: our median. error: of our result; it is not timed where that is above `limit`. quiet: whether
    ours had the cores of a CPU.
    """

    name: str
    what: str
    size: str
    nbytes: int
    error: float
    limit: float
    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)
    quiet: bool = True

    @property
    def right(self) -> bool:
        return self.error <= self.limit


@dataclass(frozen=True)
class Run:
    """All rows of one run, and where and with what it was made. left_out: libraries that failed, with the reason."""

    device: dict[str, Any]
    host: dict[str, Any]
    versions: dict[str, str]
    command: str
    rows: list[Row]
    left_out: dict[str, str]
    date: str = field(default_factory=lambda: datetime.datetime.now().astimezone().isoformat(timespec="seconds"))
    format: int = FORMAT

    @property
    def right(self) -> bool:
        """Whether every result of ours was."""
        return all(row.right for row in self.rows)

    def save(self, path: Path) -> None:
        """Writes JSON. Raises OSError."""
        path.write_text(json.dumps(asdict(self), indent=1, allow_nan=True) + "\n", encoding="utf-8")


def load(path: Path) -> Run:
    """A run from its JSON. Raises OSError, and ArgumentError for a file without a run."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["format"] != FORMAT:
            raise cm.ArgumentError(f"{str(path)!r} has format {stored['format']}; this version reads {FORMAT}")
        rows = [Row(**{**row, "peers": [Peer(**peer) for peer in row["peers"]]}) for row in stored["rows"]]
        return Run(**{**stored, "rows": rows})
    except (ValueError, KeyError, TypeError) as error:
        raise cm.ArgumentError(f"{str(path)!r} holds no run of `clmapreduce bench`: {error!r}") from error


def row_of(case: Case, error: float, timing: Timing | None, peers: list[Peer]) -> Row:
    """The row of a case, timed or not."""
    what = (case.name, case.what, case.size, case.nbytes, error, case.limit)
    if timing is None:
        return Row(*what)
    return Row(*what, timing.seconds, timing.ours, peers, timing.quiet)


def host_facts() -> dict[str, Any]:
    """What the page says of the machine."""
    system = f"{platform.system()} {platform.machine()}"
    return {"system": system, "cores": os.cpu_count() or 1, "python": platform.python_version()}
