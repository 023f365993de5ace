"""Drawings go into pages as text, so that they follow the page's light or dark theme. Other pictures stay files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes


def inline_drawings(app: Any, document: Any) -> None:
    """Sphinx's `doctree-read`: the image of a drawing that `canvas` has written becomes its text."""
    for image in list(document.findall(nodes.image)):
        path = Path(app.srcdir) / image["uri"]
        text = path.read_text(encoding="utf-8") if path.suffix == ".svg" and path.exists() else ""
        if 'class="drawing"' in text:
            image.parent.replace(image, nodes.raw("", f'<div class="drawing-frame">{text}</div>', format="html"))
