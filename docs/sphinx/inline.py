"""Drawings go into pages as text, so that they follow the page's light or dark theme."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes


def inline_drawings(app: Any, document: Any) -> None:
    """Sphinx's `doctree-read`: every image of an SVG file becomes its text."""
    for image in list(document.findall(nodes.image)):
        path = Path(app.srcdir) / image["uri"]
        if path.suffix == ".svg" and path.exists():
            figure = f'<div class="drawing-frame">{path.read_text(encoding="utf-8")}</div>'
            image.parent.replace(image, nodes.raw("", figure, format="html"))
