"""Digests of the kernels of a fixed list of calls: what a change of the code does to kernels, without a device.

    python tests/kernel_digest.py --save before.txt        # in the tree before the change
    python tests/kernel_digest.py --against before.txt     # after it: says which launches differ, code 1 if any do

Each line is one launch: sheet of facts, mode, call, number of the launch; then the SHA-256 of the kernel's text and
build options, the number of groups, their size, and the arguments. `--loose` ignores comments and white space.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from support.kernel_rules import assert_local_arrays  # noqa: E402
from support.pair_plans import form_of  # noqa: E402
from support.plans import FACTS, MODES, every_plan, source_of  # noqa: E402
from support.random_blocks import drawn_blocks  # noqa: E402  # found by the line above

from clmapreduce.domain.dense import Pairwise  # noqa: E402
from clmapreduce.domain.sparse import sparse  # noqa: E402
from clmapreduce.modes import ComputeMode  # noqa: E402
from clmapreduce.plan import Facts, Plan, Stage  # noqa: E402
from clmapreduce.planning.pair_request import passes_of  # noqa: E402
from clmapreduce.planning.passes import Setting  # noqa: E402

SHEETS = ("nvidia", "intel", "pocl")
FORMULAS: dict[str, tuple[str, str, str | None]] = {
    "gaussian": ("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,1)", "Sum", None),
    "gaussian of 16": ("Exp(-SqDist(Vi(0,16),Vj(1,16)))*Vj(2,2)", "Sum", None),
    "gaussian of 64": ("Exp(-SqDist(Vi(0,64),Vj(1,64)))*Vj(2,1)", "Sum", None),
    "kernel product": ("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,32)", "Sum", None),
    "multiquadric": ("Rsqrt(1+SqDist(Vi(0,5),Vj(1,5)))*Vj(2,40)", "Sum", None),
    "attention": ("(Vi(0,32)|Vj(1,32))", "SumSoftMaxWeight", "Vj(2,32)"),
    "nearest": ("SqDist(Vi(0,3),Vj(1,3))", "ArgMin", None),
    "nearest of 50": ("SqDist(Vi(0,50),Vj(1,50))", "ArgKMin", None),
    "logsumexp": ("-SqDist(Vi(0,10),Vj(1,10))", "LogSumExp", None),
    "gradient": ("Grad(Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,1),Vi(0,3),Vi(3,1))", "Sum", None),
    "variance": ("Sin(Vi(0,2)|Vj(1,2))", "Var", None),
}
SIZES = ((1, 5, 1), (3, 100_000, 1), (70, 100_000, 1), (5_000, 900, 6), (10_000, 10_000, 1), (1_000_000, 1_000_000, 1))


def chosen_plans(facts: Facts, mode: ComputeMode) -> Iterator[tuple[str, Plan]]:
    """Plans with the scheme and the box that the planner chooses, of problems from tiny to large."""
    for name, (text, op, weight) in FORMULAS.items():
        options = {"k": 5} if op == "ArgKMin" else {}
        passes = passes_of(form_of(text, op, weight, **options))
        outputs = tuple(output.dtype for output in passes.outputs)
        for rows, columns, batch in SIZES:
            domain = Pairwise(rows, columns, batch, max(rows, columns) * batch)
            label = f"{name}, {rows} x {columns} x {batch}"
            yield f"chosen {label}", passes.plan(Setting(domain, mode, facts), outputs)
            if batch == 1 and columns <= 10_000:
                blocks = drawn_blocks(np.random.default_rng(7), rows, columns)
                yield f"chosen of blocks {label}", passes.plan(Setting(sparse(domain, blocks), mode, facts), outputs)


def calls(facts: Facts, mode: ComputeMode) -> Iterator[tuple[str, Plan]]:
    """Every call of the list, and a name."""
    yield from every_plan(facts, mode)
    yield from chosen_plans(facts, mode)


def loosen(text: str) -> str:
    """A kernel's text without comments and white space."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"\s+", "", text)


def line_of(stage: Stage, loose: bool) -> str:
    """The data of one launch that are compared."""
    text = source_of(stage)
    digest = hashlib.sha256("\0".join([loosen(text) if loose else text, *stage.spec.options]).encode())
    arguments = " ".join(a if isinstance(a, str) else f"{a[0]}:{a[1]}" for a in stage.arguments)
    return f"{digest.hexdigest()[:20]} {stage.groups} {stage.group_size} {arguments}"


def digests(sheet: str, loose: bool = False) -> Iterator[str]:
    """A line for every launch of every call. Raises AssertionError where kernels of equal keys have unequal text, or
    a kernel declares other local arrays than its spec.
    """
    texts: dict[object, str] = {}
    for mode in MODES:
        times: Counter[str] = Counter()
        for name, plan in calls(FACTS[sheet], mode):
            times[name] += 1
            name = f"{name}, {times[name]}" if times[name] > 1 else name
            for number, stage in enumerate(plan.stages):
                text = source_of(stage)
                if stage.spec not in texts:
                    assert_local_arrays(name, stage.spec, text)
                assert texts.setdefault(stage.spec, text) == text, f"{name}: equal keys, other text"
                yield f"{sheet}/{mode.value}/{name}/{number}: {line_of(stage, loose)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sheet", choices=SHEETS, action="append", help="only this sheet of facts")
    parser.add_argument("--loose", action="store_true", help="ignore comments and white space")
    parser.add_argument("--save", type=Path, help="write the lines to a file")
    parser.add_argument("--against", type=Path, help="compare with the lines of a file")
    options = parser.parse_args()
    lines = [line for sheet in options.sheet or SHEETS for line in digests(sheet, options.loose)]
    if options.save:
        options.save.write_text("\n".join(lines) + "\n")
    whole = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    texts = len({line.rsplit(": ", 1)[1].split(" ", 1)[0] for line in lines})
    print(f"{len(lines)} launches, {texts} texts: {whole}")
    if not options.against:
        return 0
    new, old = (dict(line.rsplit(": ", 1) for line in these) for these in (lines, options.against.read_text().splitlines()))
    different = [name for name in sorted(new.keys() | old.keys()) if new.get(name) != old.get(name)]
    for name in different[:50]:
        print(f"{name}\n  was {old.get(name)}\n  is  {new.get(name)}")
    print(f"{len(different)} launches differ")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
