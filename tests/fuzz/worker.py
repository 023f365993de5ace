"""A process that runs cases: orders come as lines of JSON, and it says which case begins before it does. Whatever ends
or stops it is that case's doing. `python worker.py DEVICE`, started by `watch.Worker`.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parent / "pairwise")]

import clmapreduce as cm  # noqa: E402
import clmapreduce.device.runtime  # noqa: E402

MEMORY = 8 << 30
"""Bytes that a process may have: hostile lengths must not fill the machine."""
LIBRARY = ("clmapreduce", "cl_templates", "hostsched")


def place_of(error: BaseException) -> str:
    """file:line of the innermost frame that is the library's, else of the innermost one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f"{os.sep}tests{os.sep}" not in f.filename and any(f"{os.sep}{n}{os.sep}" in f.filename for n in LIBRARY)]
    frame = (own or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def finding(kind: str, error: BaseException) -> dict[str, Any]:
    return {
        "kind": kind, "what": f"{type(error).__name__}: {error}"[:1500], "where": place_of(error),
        "notes": getattr(error, "notes", []),
    }  # fmt: skip


def builds() -> set[int]:
    """The distinct kernels built in this process from here on."""
    hashes: set[int] = set()
    render = clmapreduce.device.runtime.render

    def note_and_render(template: str, context: Any) -> str:
        text = render(template, context)
        hashes.add(hash(text))
        return text

    clmapreduce.device.runtime.render = note_and_render  # type: ignore[attr-defined]
    return hashes


def valid(family: str, seed: int, home: Any) -> dict[str, Any] | None:
    """The finding of a right call, None for none."""
    from fuzz.run import run

    try:
        run(family, seed, home)
    except AssertionError as error:
        return finding("wrong", error)
    except cm.ClMapReduceError as error:
        return finding("refused", error)
    except Exception as error:
        return finding("error", error)
    return None


def invalid(family: str, seed: int, home: Any) -> dict[str, Any] | None:
    """The finding of a wrong call."""
    from fuzz.invalid.run import run

    return run(family, seed, home, finding)


def main() -> None:
    from fuzz.case import Home

    answers = os.fdopen(os.dup(1), "w", buffering=1)  # what a driver prints goes to stderr
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    context = cm.Context(sys.argv[1] or None)
    if context.device.kind == "cpu":  # a GPU's driver maps more than it uses
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    cm.use(context)
    kernels, home = builds(), Home(context)
    answers.write(json.dumps({"ready": context.device.name}) + "\n")
    for line in sys.stdin:
        order = json.loads(line)
        kind = {"valid": valid, "invalid": invalid}[order["kind"]]
        for seed in range(order["first"], order["end"]):
            answers.write(f'{{"begin": {seed}}}\n')
            report = kind(order["family"], seed, home)
            if report is not None:
                answers.write(json.dumps({"seed": seed, **report}) + "\n")
        answers.write(json.dumps({"end": order["end"], "kernels": len(kernels)}) + "\n")


if __name__ == "__main__":
    main()
