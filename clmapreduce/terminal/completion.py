"""Shell completion by argcomplete: the script that a shell reads, and the words that it then asks for."""

from __future__ import annotations

import argparse
import os

SHELLS = ("bash", "zsh", "fish")
INSTALL = 'shell completion needs argcomplete: pip install "clmapreduce[completion]"'


def complete(parser: argparse.ArgumentParser) -> None:
    """Answers a shell that asks for words, and ends the process; returns at once in every other call."""
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser, always_complete_options=False)


def script(shell: str) -> str:
    """What a shell evaluates to complete `clmapreduce`. Raises ImportError where argcomplete is not installed."""
    try:
        import argcomplete
    except ImportError as error:
        raise ImportError(INSTALL) from error
    return str(argcomplete.shellcode(["clmapreduce"], shell=shell))
