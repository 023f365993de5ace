"""The command line as argparse sees it: commands, options, help within 80 columns."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from clmapreduce.terminal.completion import SHELLS
from clmapreduce.version import __version__

EXIT_CODES = """\
exit codes:
  0    all went well
  1    no device, a wrong result, a file that cannot be written, a package
       that is not installed
  2    the command line is wrong
  130  interrupted (Ctrl-C)"""
PAGE = "clmapreduce-bench.html"
SPEC = '"gpu", "cpu", "pocl", part of a name, ...; default: the best'


class _Form(argparse.RawDescriptionHelpFormatter):
    """Help of 80 columns however wide the terminal is, with texts as they are written below."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=80)


def parser() -> argparse.ArgumentParser:
    """The parser of all commands. `command` names the chosen one."""
    top = argparse.ArgumentParser(
        prog="clmapreduce", description="Map-reduce for every OpenCL device.", formatter_class=_Form,
        epilog=f"{EXIT_CODES}\n\nclmapreduce COMMAND --help says more about each.",
    )  # fmt: skip
    top.add_argument("-V", "--version", action="version", version=f"%(prog)s {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    _devices(commands)
    _doctor(commands)
    _demo(commands)
    _bench(commands)
    _tune(commands)
    _completion(commands)
    return top


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _command(commands: Commands, name: str, what: str, more: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name, help=what, description=f"{what[0].upper()}{what[1:]}.\n\n{more}", formatter_class=_Form, epilog=EXIT_CODES
    )


def _devices(commands: Commands) -> None:
    _command(
        commands, "devices", "list the devices, best first",
        "The one with a star is the default. Another: CLMR_DEVICE=cpu, cm.use('cpu').",
    )  # fmt: skip


def _doctor(commands: Commands) -> None:
    doctor = _command(
        commands, "doctor", "say whether all is well, and how to repair what is not",
        "The first line says whether all is well. Below it: drivers, devices, what is\n"
        "missing. Each device computes a few known results, in a process of its own.\n"
        "A device that gets one of them wrong is tested in full.",
    )  # fmt: skip
    doctor.add_argument("--full", action="store_true", help="every check in every mode: 10 to 30 s the first time")
    doctor.add_argument("--json", action="store_true", help="print the report as JSON")


def _demo(commands: Commands) -> None:
    demo = _command(
        commands, "demo", "compute the factorials and e^x, and draw how the series converges",
        "The picture needs matplotlib: pip install \"clmapreduce[plot]\".",
    )  # fmt: skip
    demo.add_argument("--picture", type=Path, default=Path("convergence.png"), metavar="PATH", help="%(default)s")
    demo.add_argument("--device", metavar="SPEC", help=SPEC)


def _completion(commands: Commands) -> None:
    completion = _command(
        commands, "completion", "print the script that lets a shell complete commands",
        "bash, zsh:  eval \"$(clmapreduce completion bash)\"    in ~/.bashrc or ~/.zshrc\n"
        "fish:       clmapreduce completion fish | source     in config.fish\n"
        "Needs argcomplete: pip install \"clmapreduce[completion]\".",
    )  # fmt: skip
    completion.add_argument("shell", choices=SHELLS)


def _tune(commands: Commands) -> None:
    tune = _command(
        commands, "tune", "measure launch boxes of the common calls, and keep the best",
        "Sums, maps, scans, softmax, pairs, segments, keys and sparse matrices, short,\n"
        "middling and long, float32. Later processes use what is found on this device.\n"
        "cm.tune does the same for calls of your own. Ctrl-C keeps what was found.",
    )  # fmt: skip
    tune.add_argument("--seconds", type=float, default=180.0, metavar="S", help="for all searches (%(default)g)")
    tune.add_argument("--only", metavar="ROWS", help='some calls, such as "sum,spmv"')
    tune.add_argument("--device", metavar="SPEC", help=SPEC)


def _bench(commands: Commands) -> None:
    bench = _command(
        commands, "bench", "measure ten rows beside the libraries that are installed",
        "NumPy, SciPy, numba, PyKeOps, PyTorch and CuPy take part where they are\n"
        "installed; compilers need time of their own in the first run. Every result\n"
        "is compared with float64 first.",
    )  # fmt: skip
    bench.add_argument("--seconds", type=float, default=100.0, metavar="S", help="for timing, all rows (%(default)g)")
    bench.add_argument("--only", metavar="ROWS", help='some rows, such as "sum,spmv"')
    bench.add_argument("--output", type=Path, default=Path(PAGE), metavar="PATH", help="the page (%(default)s)")
    bench.add_argument("--json", type=Path, metavar="PATH", help="the data; default: beside the page")
    bench.add_argument("--device", metavar="SPEC", help=SPEC)
