"""Tables of the numbers in data/, for the markers `slower`, `below`, `ratios` and `bench` of `build.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clmapreduce.bench.page import picture
from clmapreduce.bench.results import load
from clmapreduce.device.profiling.text import seconds

DATA = Path(__file__).resolve().parent / "data"


def slower(names: Sequence[str]) -> str:
    """The rows in which ours is slower, with what bounds it, the worst first."""
    return _bounded(names, lambda row: row["ratio"] < 1, lambda row: "")


def below(names: Sequence[str]) -> str:
    """The rows in which ours is faster, and below the goal."""
    return _bounded(names, lambda row: 1 <= row["ratio"] < (row["goal"] or 0), lambda row: f", goal {row['goal']:g}")


def _bounded(names: Sequence[str], chosen: Callable[[Any], bool], more: Callable[[Any], str]) -> str:
    """Some rows with their bounds; those of several machines with the same bound are one."""
    rows = [(row, machine) for machine, rows in map(_read, names) for row in rows if chosen(row)]
    lines: dict[tuple[str, ...], list[str]] = {}
    for row, machine in sorted(rows, key=lambda pair: float(pair[0]["ratio"])):
        key = row["what"], row["peer"] + more(row), row["bound"]
        lines.setdefault(key, []).append(f"{row['ratio']:g} on {machine['short'].replace(', ', ' with ')}")
    table = [f"| {what} | {peer} | {', '.join(where)} | {bound} |" for (what, peer, bound), where in lines.items()]
    return "\n".join(["| what | compared with | × | what limits ours |", "|---|---|---|---|", *table])


def ratios(names: Sequence[str]) -> str:
    """Every row once: by machine, how many times as long each library takes. Below its goal: in italics."""
    tables = [_read(name) for name in names]
    whats = list(dict.fromkeys(row["what"] for _, rows in tables for row in rows))
    lines = []
    for what in whats:
        cells = [", ".join(_cell(row) for row in rows if row["what"] == what) for _, rows in tables]
        lines.append(f"| {what} | {' | '.join(cells)} |")
    heads = [machine["short"] for machine, _ in tables]
    return "\n".join([f"| what | {' | '.join(heads)} |", "|---|" + "---|" * len(heads), *lines])


def bench(names: Sequence[str]) -> str:
    """The rows of runs of `clmapreduce bench`, each with its picture, which is drawn beside the data."""
    return "\n\n".join(_run(name) for name in names)


def pictures() -> dict[Path, str]:
    """What the pictures of runs hold, by their files."""
    return {path.with_suffix(".svg"): picture(load(path)) for path in sorted(DATA.glob("bench_*.json"))}


def _run(name: str) -> str:
    run = load(DATA / name)
    lines = [
        f"| {row.name} | {row.size} | {seconds(row.seconds)}{'' if row.quiet else ', cores shared'} | "
        + ", ".join(f"{peer.name} {peer.ratio:.3g}" for peer in row.peers if not peer.failed) + " |"
        for row in run.rows
    ]  # fmt: skip
    versions = ", ".join(f"{library} {version}" for library, version in run.versions.items())
    where = f"{run.device['name']}, {run.device['platform']} {run.device['driver']}, {run.host['cores']} cores"
    picture_of = f"![times of each library and ours, by row](data/{Path(name).with_suffix('.svg')})"
    table = "\n".join(["| row | size | ours | × |", "|---|---|---|---|", *lines])
    return f"{where}, {run.date[:10]}, `{run.command}`; {versions}.\n\n{picture_of}\n\n{table}"


def _cell(row: dict[str, Any]) -> str:
    ratio = f"{row['ratio']:g}"
    below = row["goal"] is not None and row["ratio"] < row["goal"]
    ratio = f"**{ratio}**" if row["ratio"] < 1 else f"*{ratio}*" if below else ratio
    return f"{row['peer']} {ratio}"


def _read(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    recorded = json.loads((DATA / name).read_text(encoding="utf-8"))
    return recorded["machine"], recorded["rows"]
