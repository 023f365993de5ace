"""Runs one case: `python -m sanitize CASE MODE` compares it with NumPy and prints the templates it rendered as JSON.
`python -m sanitize KERNEL planted` runs a kernel with a known fault.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from sanitize.cases import CASES
from sanitize.planted import run_planted

import clmapreduce as cm
import clmapreduce.device.runtime


def main(name: str, mode: str) -> None:
    """Prints the names of the templates before a wrong result is an error."""
    names: set[str] = set()
    render = clmapreduce.device.runtime.render

    def note_and_render(template: str, context: Any) -> str:
        names.add(template)
        return render(template, context)

    clmapreduce.device.runtime.render = note_and_render  # type: ignore[attr-defined]
    with cm.Context(cm.devices()[0]) as context:
        if mode == "planted":
            run_planted(name, context)
            return
        try:
            CASES[name].run(context, mode)
        finally:
            print(json.dumps(sorted(names)))


if __name__ == "__main__":
    main(*sys.argv[1:])
