"""A drawing as SVG: boxes, arrows and text in one colour that follows the page, and fills that suit light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

FILLS = {"blue": "#4c8bf5", "green": "#3aa76d", "orange": "#e58e26", "grey": "#8a94a6", "none": "none"}
STYLE = """
svg.drawing { color: #1f2328; font: 14px system-ui, sans-serif; }
svg.drawing text { fill: currentColor; }
svg.drawing .small { font-size: 12px; }
svg.drawing .code { font-family: ui-monospace, monospace; font-size: 13px; }
svg.drawing .bold { font-weight: 600; }
svg.drawing .line { stroke: currentColor; stroke-width: 1.3; fill: none; }
svg.drawing .head { fill: currentColor; }
@media (prefers-color-scheme: dark) { svg.drawing { color: #e6edf3; } }
"""
"""Colours of a drawing that is shown as a picture; inside a page the page's own style sheet decides."""


class Canvas:
    """Collects shapes, positions in pixels from the upper left; `svg` gives the text."""

    def __init__(self, name: str, width: int, height: int, title: str) -> None:
        self.name, self.width, self.height, self.title = name, width, height, title
        self.shapes: list[str] = []

    def box(self, at: tuple[float, float], size: tuple[float, float], fill: str, lines: Sequence[str]) -> None:
        """A rectangle with centred lines of text; the first one is bold, others are small."""
        (x, y), (w, h) = at, size
        self.shapes.append(
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="5" fill="{FILLS[fill]}" fill-opacity="0.28" '
            f'stroke="currentColor" stroke-opacity="0.65"/>'
        )
        top = y + h / 2 - 9 * (len(lines) - 1) + 5
        for number, line in enumerate(lines):
            self.text((x + w / 2, top + 18 * number), line, "bold" if number == 0 else "small", "middle")

    def cell(self, at: tuple[float, float], size: tuple[float, float], fill: str, strong: bool = False) -> None:
        """A small rectangle without text."""
        (x, y), (w, h) = at, size
        opacity = 0.75 if strong else 0.28
        self.shapes.append(
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{FILLS[fill]}" fill-opacity="{opacity}" '
            f'stroke="currentColor" stroke-opacity="0.45"/>'
        )

    def text(self, at: tuple[float, float], text: str, kind: str = "small", anchor: str = "start") -> None:
        self.shapes.append(f'<text x="{at[0]}" y="{at[1]}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>')

    def arrow(self, *points: tuple[float, float], dashed: bool = False) -> None:
        """A line through points, with a head at its end."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        path = " ".join(f"{x},{y}" for x, y in points)
        self.shapes.append(f'<polyline points="{path}" class="line"{dash} marker-end="url(#{self.name}-head)"/>')

    def line(self, *points: tuple[float, float], dashed: bool = False) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        path = " ".join(f"{x},{y}" for x, y in points)
        self.shapes.append(f'<polyline points="{path}" class="line"{dash}/>')

    def svg(self) -> str:
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}"'
        head = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" role="img" {size}>',
                f"<title>{escape(self.title)}</title>",
                f"<style>{STYLE}</style>",
                f'<defs><marker id="{self.name}-head" {head}><path class="head" d="M0,0 L8,4 L0,8 z"/></marker></defs>',
                *self.shapes,
                "</svg>\n",
            ]
        )
