"""The command line: `clmapreduce devices | doctor | demo | bench | tune | completion`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence

import clmapreduce as cm
from clmapreduce import demo
from clmapreduce.bench import run, tuning
from clmapreduce.doctor import report
from clmapreduce.doctor.diagnosis import diagnose, facts_of
from clmapreduce.terminal.completion import complete, script
from clmapreduce.terminal.fold import fold
from clmapreduce.terminal.parser import parser

WRONG_LINE, INTERRUPTED = 2, 130
CHOOSE = 'To choose another one: CLMR_DEVICE or cm.use(...), with "gpu", "cpu", part of a name, ...'


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code, as `terminal.parser.EXIT_CODES` says."""
    reader = parser()
    complete(reader)
    options = reader.parse_args(arguments)
    try:
        if options.command == "devices":
            return _devices()
        if options.command == "doctor":
            return report.show(diagnose(options.full), options.json)
        if options.command == "bench":
            return _bench(options, sys.argv[1:] if arguments is None else arguments)
        if options.command == "tune":
            with cm.use(options.device) as context:
                return tuning.show(context, options.only, options.seconds)
        if options.command == "completion":
            print(script(options.shell))
            return 0
        with cm.use(options.device) as context:
            demo.run(context.device, options.picture)
        return 0
    except (cm.ClMapReduceError, OSError, ImportError) as error:
        print(fold(f"clmapreduce {options.command}: {error}"), file=sys.stderr)
        return WRONG_LINE if isinstance(error, cm.ArgumentError) else 1
    except KeyboardInterrupt:
        print(f"clmapreduce {options.command}: interrupted", file=sys.stderr)
        return INTERRUPTED


def _devices() -> int:
    devices = cm.devices()
    if not devices:
        print('No OpenCL device. "clmapreduce doctor" says why and how to repair it.', file=sys.stderr)
        return 1
    default = cm.select_device()
    for device in devices:
        print(report.describe(facts_of(device), default=device == default))
    print(f"\n{fold(f'* is the default. {CHOOSE}')}")
    return 0


def _bench(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    command = shlex.join(["clmapreduce", *arguments])
    with cm.use(options.device) as context:
        return run.show(context, options.only, options.seconds, options.output, options.json, command)
