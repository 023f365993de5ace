"""The command line: `clmapreduce devices | doctor | demo | bench`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import clmapreduce as cm
from clmapreduce import demo
from clmapreduce.doctor import report


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 when all went well, 1 when no device works or a step failed, 2 for a wrong command line."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "bench":
        parser.error(f"unknown arguments: {' '.join(rest)}")
    try:
        if options.command == "devices":
            return _devices()
        if options.command == "doctor":
            return report.run(as_json=options.json)
        if options.command == "bench":
            return _bench(rest)
        with cm.use(options.device) as context:
            demo.run(context.device, options.picture)
        return 0
    except (cm.ClMapReduceError, OSError) as error:
        print(f"clmapreduce {options.command}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="clmapreduce", description="Map-reduce for every OpenCL device.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {cm.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    commands.add_parser("devices", help="list the devices found, best first")
    doctor_ = commands.add_parser("doctor", help="what is found, what is missing, how to mend it; tests each device")
    doctor_.add_argument("--json", action="store_true", help="print the report as JSON")
    demo_ = commands.add_parser("demo", help="the factorial sequence and the power series of e^x")
    demo_.add_argument("--picture", type=Path, default=Path("convergence.png"), metavar="PATH", help="%(default)s")
    demo_.add_argument("--device", metavar="SPEC", help='"gpu", "cpu", "pocl", part of a name, ...; default: the best')
    commands.add_parser("bench", help="run the benchmarks of a source checkout; further arguments go to them")
    return parser


def _devices() -> int:
    devices = cm.devices()
    if not devices:
        print('No OpenCL device. "clmapreduce doctor" says why and how to mend it.', file=sys.stderr)
        return 1
    default = cm.select_device()
    for device in devices:
        print(report.describe(report.facts_of(device), default=device == default))
    print('\n* is the default. To choose another: CLMR_DEVICE or cm.use(...), with "gpu", "cpu", part of a name, ...')
    return 0


def _bench(arguments: Sequence[str]) -> int:
    script = Path(__file__).resolve().parents[1] / "benchmarks" / "primitives.py"
    if not script.exists():
        print(
            'The benchmarks are in the source, not in the installed package: in a checkout of it, run "make bench".',
            file=sys.stderr,
        )
        return 1
    return subprocess.call([sys.executable, str(script), *arguments])
