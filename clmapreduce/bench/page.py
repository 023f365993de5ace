"""A run as a page in HTML that loads nothing: one picture, one table, and how it was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from clmapreduce.bench.results import Peer, Row, Run
from clmapreduce.device.profiling.text import seconds
from clmapreduce.notebook import columns
from clmapreduce.terminal.fold import fold

LEFT, WIDE, BAR, GAP = 250, 420, 15, 10
"""Pixels: names, bars, the height of a bar, between rows."""
COLOURS = {"NumPy": "#8aa9d6", "SciPy": "#7fbf9a", "numba": "#e0a458", "PyKeOps": "#c98bb9"}
OTHER = "#a0a0a0"
_TIED = "\u00a0"
"""A space at which no line ends."""
STYLE = (
    "body{font:14px sans-serif;max-width:1300px;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
    "td,th{padding:3px 8px;text-align:left;white-space:nowrap;border-top:1px solid #ddd}"
    "svg{max-width:100%;height:auto}div{overflow-x:auto}code{overflow-wrap:anywhere}"
)


def page(run: Run) -> str:
    """The page of a run."""
    device = f"{run.device['name']} ({run.device['platform']}, driver {run.device['driver']})"
    facts = (
        f"{run.date}; {run.host['system']}, {run.host['cores']} cores, Python {run.host['python']}; "
        + ", ".join(f"{name} {version}" for name, version in run.versions.items())
    )
    heads = ("row", "what", "size", "ours", "rate", "error", "beside", "×", "its time", "its error")
    notes = "".join(f"<p>{escape(name)} was left out: {escape(why)}</p>" for name, why in run.left_out.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"/><title>clmapreduce bench</title>'
        f"<style>{STYLE}</style></head><body><h1>clmapreduce on {escape(device)}</h1><p>{escape(summary(run))}</p>"
        f"{picture(run)}<div>{columns('', heads, list(_table(run)))}</div>{notes}<h2>How it was measured</h2>"
        "<p>Each result was compared with one in float64 first. Then ours and each library took turns; a ratio is the "
        "median over rounds of the library's time by ours in the same round. Arrays lie on the device beforehand. "
        "Times are of whole calls from Python, waiting included.</p>"
        f"<p>{escape(facts)}</p><p><code>{escape(run.command)}</code></p></body></html>\n"
    )


def summary(run: Run) -> str:
    """The run in one or two sentences, what lost first."""
    if not run.right:
        wrong = ", ".join(row.name for row in run.rows if not row.right)
        return f"Something is wrong: the error is too large in {wrong}."
    pairs = [(row, peer) for row in run.rows for peer in row.peers if not peer.failed]
    slower = [f"{row.name} beside {peer.name} ({peer.ratio:.2f} ×)" for row, peer in pairs if peer.ratio < 1]
    ahead = len(pairs) - len(slower)
    return (
        f"Slower: {', '.join(slower)}. Faster: {ahead} of {len(pairs)} comparisons."
        if slower else f"Faster in all of {len(pairs)} comparisons."
    )  # fmt: skip


def picture(run: Run) -> str:
    """Bars of how many times as long each peer took, on a scale of powers of ten; the line is ours."""
    bars = [(row, peer) for row in run.rows for peer in row.peers if not peer.failed]
    ratios = [peer.ratio for _, peer in bars]
    low = math.floor(math.log10(min([0.5, *ratios])) * 2) / 2
    high = max(math.ceil(math.log10(max([2.0, *ratios]))), low + 1)

    def x(ratio: float) -> float:
        return LEFT + WIDE * (math.log10(ratio) - low) / (high - low)

    shapes, y, last = [], 28.0, None
    for row, peer in bars:
        y += GAP if row is not last else 0
        if row is not last:
            shapes.append(f'<text x="8" y="{y + 12:.0f}" font-weight="bold">{escape(row.name)}</text>')
        begin, end = sorted((x(1), x(peer.ratio)))
        shapes.append(
            f'<text x="{LEFT - 8}" y="{y + 12:.0f}" text-anchor="end">{escape(peer.name)}</text>'
            f'<rect x="{begin:.1f}" y="{y:.0f}" width="{end - begin:.1f}" height="{BAR - 3}" '
            f'fill="{COLOURS.get(peer.name, OTHER)}"/>'
            f'<text x="{end + 6:.1f}" y="{y + 12:.0f}">{peer.ratio:.3g} ×</text>'
        )
        y, last = y + BAR, row
    height = y + 16
    ticks = "".join(
        f'<line x1="{x(10.0**k):.1f}" x2="{x(10.0**k):.1f}" y1="24" y2="{height - 10:.0f}" '
        f'stroke="{"#222" if k == 0 else "#ddd"}"/><text x="{x(10.0**k):.1f}" y="18" text-anchor="middle">'
        f"{'ours' if k == 0 else f'{10.0**k:g} ×'}</text>"
        for k in range(math.ceil(low), math.floor(high) + 1)
    )
    width = LEFT + WIDE + 90
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
        f'viewBox="0 0 {width} {height:.0f}" font-family="sans-serif" font-size="12">'
        f'<rect width="{width}" height="{height:.0f}" fill="white"/>{ticks}{"".join(shapes)}</svg>'
    )


def _table(run: Run) -> Iterator[tuple[str, ...]]:
    for row in run.rows:
        rate = f"{row.nbytes / row.seconds / 1e9:.3g} GB/s" if row.nbytes and row.seconds else ""
        ours = seconds(row.seconds) + ("" if row.quiet else ", cores shared") if row.right else "wrong, not timed"
        begin = row.name, row.what, row.size, ours, rate, f"{row.error:.0e}"
        for number, cells in enumerate(map(_beside, row.peers) if row.peers else [("", "", "", "")]):
            yield (*(("",) * len(begin) if number else begin), *cells)


def _beside(peer: Peer) -> tuple[str, ...]:
    if peer.failed:
        return peer.name, f"failed: {peer.failed}", "", ""
    return peer.name, f"{peer.ratio:.3g}", seconds(peer.seconds), f"{peer.error:.0e}"


def as_text(row: Row) -> str:
    """A row for a terminal, in lines of 80 columns: our time, and how many times as long each peer took."""
    if not row.right:
        return f"{row.name:<10} WRONG: an error of {row.error:.0e}, {row.limit:.0e} is allowed"
    peers = [f"{peer.name} {peer.ratio:.3g} ×".replace(" ", _TIED) for peer in row.peers if not peer.failed]
    line = f"{row.name:<10}{seconds(row.seconds):>9}  {'  '.join(peers) or 'nothing beside it'}"
    return fold(line, indent=21, first=0).replace(_TIED, " ")
