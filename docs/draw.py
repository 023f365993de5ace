"""Writes the drawings of the concepts, concepts/drawings/NAME.svg (`make docs`)."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "sphinx"))

import computing  # noqa: E402  # both in docs/sphinx
import structure  # noqa: E402

DRAWINGS = (
    structure.packages, structure.launch, structure.waits,
    computing.modes, computing.scopes, computing.sparsity, computing.carry_out, computing.guards,
)  # fmt: skip


def drawings() -> dict[Path, str]:
    """Path → text of every drawing."""
    folder = DOCS / "concepts" / "drawings"
    return {folder / f"{draw.__name__}.svg": draw().svg() for draw in DRAWINGS}


if __name__ == "__main__":
    for path, text in drawings().items():
        path.write_text(text, encoding="utf-8")
