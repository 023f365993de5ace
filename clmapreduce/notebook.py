"""Tables and pictures for notebooks: small escaped HTML that loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

LEVELS = 8
"""Shades of a picture, beside white."""
_LARGEST = 256


def facts(title: str, rows: Mapping[str, Any], picture: str = "") -> str:
    """A table of names and values below a title, and a picture from `shades` below it. Lines of a value stay lines."""
    cells = [f"<tr><th>{_text(name)}</th><td><pre>{_text(value)}</pre></td></tr>" for name, value in rows.items()]
    return f"<div><b>{_text(title)}</b><table>{''.join(cells)}</table>{picture}</div>"


def columns(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "") -> str:
    """A table with names above its columns, below a title and a line of text."""
    head = "".join(f"<th>{_text(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div><b>{_text(title)}</b><div>{_text(note)}</div><table><tr>{head}</tr>{body}</table></div>"


def shades(image: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    """A picture (height, width) of numbers from 0, white, to 1, black, as SVG: a path for each of LEVELS shades, pixels
    of one shade side by side in a rectangle. What is not quite 0 is not white.
    """
    height, width = image.shape
    levels = np.ceil(image * LEVELS - 1e-9).astype(np.int64)
    ends = np.flatnonzero(np.diff(levels, axis=1, append=-1).reshape(-1)) + 1
    begins = np.append(0, ends[:-1])
    paths: dict[int, list[str]] = {}
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        level, run = int(levels.reshape(-1)[begin]), end - begin
        if level:
            paths.setdefault(level, []).append(f"M{begin % width} {begin // width}h{run}v1h-{run}z")
    rectangles = "".join(
        f'<path fill="black" fill-opacity="{level / LEVELS}" d="{"".join(runs)}"/>' for level, runs in paths.items()
    )
    longest = max(height, width, 1)
    size = f'width="{_LARGEST * width / longest:.0f}" height="{_LARGEST * height / longest:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" shape-rendering="crispEdges">'
        f'<rect width="{width}" height="{height}" fill="white"/>{rectangles}</svg>'
    )


def _text(value: Any) -> str:
    return escape(str(value))
