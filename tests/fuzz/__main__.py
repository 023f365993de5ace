"""Random valid and invalid calls: `python tests/fuzz --device pocl --valid 1000 --invalid 1000`.

Ends with code 1 if there are findings. `--case` repeats one case in this process.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parent / "pairwise")]

from fuzz.case import NEIGHBOURS  # noqa: E402
from fuzz.findings import Findings  # noqa: E402
from fuzz.plan import blocks, families_of, names_of  # noqa: E402
from fuzz.watch import Block, Finding, Worker  # noqa: E402

LIMIT = {"valid": 60.0, "invalid": 30.0}
"""Seconds of work that a case may take."""
PROGRESS = 60.0
"""Seconds between lines that say how many cases ran."""
CASES_OF_PROCESS = {"valid": 1 << 30, "invalid": 400}
"""Cases until a process is replaced."""


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description="Random valid and invalid calls of every family.")
    parser.add_argument("--device", default="", help="part of the device's name; the best one by default")
    parser.add_argument("--valid", type=int, default=2000, help="valid cases")
    parser.add_argument("--invalid", type=int, default=2000, help="invalid cases")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--seed", type=int, default=None, help="the first case; drawn by default")
    parser.add_argument("--family", default=None, help="families, with commas between")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--limit", type=float, default=None, help="seconds of work that a case may take")
    parser.add_argument("--kind", choices=("valid", "invalid"), default="valid", help="of --case")
    parser.add_argument("--case", type=int, default=None, help="repeat this case of --family")
    return parser.parse_args(words)


def repeat(options: argparse.Namespace) -> int:
    """One case, here, with its error."""
    from fuzz.case import Home
    from fuzz.run import run
    from fuzz.worker import invalid

    import clmapreduce as cm

    home = Home(cm.Context(options.device or None))
    cm.use(home.context)
    if options.kind == "invalid":
        finding = invalid(options.family, options.case, home)
        print(finding or "nothing was found")
        return int(finding is not None)
    print("\n".join(run(options.family, options.case, home).notes))
    return 0


class Campaign:
    """All blocks of cases, shared among processes."""

    def __init__(self, options: argparse.Namespace, seed: int) -> None:
        self.options, self.findings = options, Findings(options.device or "''")
        self.ran: Counter[tuple[str, str]] = Counter()
        self.seconds: Counter[tuple[str, str]] = Counter()
        self.kernels = 0
        self._end = time.monotonic() + options.seconds
        self._blocks = blocks({"valid": options.valid, "invalid": options.invalid}, seed, options.family)
        self._lock = threading.Lock()
        self._caches = tempfile.TemporaryDirectory()

    def run(self) -> None:
        threads = [threading.Thread(target=self._work, args=(k,)) for k in range(self.options.processes)]
        for thread in threads:
            thread.start()
        last = time.monotonic()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.2)
            if time.monotonic() > last + PROGRESS:
                last = time.monotonic()
                print(f"... {self.totals['valid']} valid and {self.totals['invalid']} invalid cases", flush=True)
        self._caches.cleanup()

    def end(self, *_: object) -> None:
        """No case begins from now on."""
        self._end = 0.0

    @property
    def totals(self) -> dict[str, int]:
        with self._lock:
            return {kind: sum(n for (k, _), n in self.ran.items() if k == kind) for kind in LIMIT}

    def _stop(self) -> bool:
        return time.monotonic() > self._end

    def _next(self) -> Block | None:
        with self._lock:
            return None if self._stop() else next(self._blocks, None)

    def _report(self, finding: Finding) -> None:
        with self._lock:
            text = self.findings.add(finding)
            if text is not None:
                print(text, flush=True)

    def _work(self, number: int) -> None:
        """One process at a time for valid cases, one for invalid ones. Each process has folders of its own for PoCL."""
        folder = Path(self._caches.name) / str(number)
        environment = {"POCL_CACHE_DIR": str(folder / "pocl"), "CLMR_CACHE_DIR": str(folder / "kernels")}
        environment["CLMR_MEMORY_LIMIT"] = os.environ.get("CLMR_MEMORY_LIMIT", "2GB")
        workers = {kind: Worker(self.options.device, self.options.limit or LIMIT[kind], environment, CASES_OF_PROCESS[kind]) for kind in LIMIT}
        while (block := self._next()) is not None:
            begin = time.monotonic()
            before = workers[block.kind].kernels
            count = workers[block.kind].run(block, self._report, self._stop)
            with self._lock:
                self.ran[block.kind, block.family] += count
                self.seconds[block.kind, block.family] += time.monotonic() - begin
                self.kernels += workers[block.kind].kernels - before
        for worker in workers.values():
            worker.stop()


def main(words: list[str] | None = None) -> int:
    options = arguments(words)
    unknown = set((options.family or "").split(",")) - {""} - {f for kind in LIMIT for f in names_of(kind)}
    if unknown:
        print(f"no family {', '.join(sorted(unknown))}; there are {', '.join(f for kind in LIMIT for f in families_of(kind))}")
        return 2
    if options.case is not None:
        return repeat(options)
    seed = secrets.randbits(31) // NEIGHBOURS * NEIGHBOURS if options.seed is None else options.seed
    print(f"--seed {seed} repeats these cases; device {options.device or 'the best'}", flush=True)
    campaign, begin = Campaign(options, seed), time.monotonic()
    signal.signal(signal.SIGTERM, campaign.end)
    signal.signal(signal.SIGINT, campaign.end)
    campaign.run()
    for kind in LIMIT:
        rows = [(family, n) for (k, family), n in campaign.ran.items() if k == kind]
        for family, n in sorted(rows):
            print(f"  {kind:8}{family:22}{n:8} cases {1e3 * campaign.seconds[kind, family] / max(n, 1):8.1f} ms each")
    totals = campaign.totals
    print(f"{totals['valid']} valid and {totals['invalid']} invalid cases in {time.monotonic() - begin:.0f} s, {campaign.kernels} distinct kernels")
    print(f"found: {campaign.findings.counts() or 'nothing'}")
    return int(campaign.findings.failing() > 0)


if __name__ == "__main__":
    sys.exit(main())
