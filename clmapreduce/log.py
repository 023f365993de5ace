"""The library's log: Python's logger "clmapreduce", with a level and a handler where $CLMR_LOG asks for them."""

from __future__ import annotations

import logging
import os
import sys
import warnings

LOG = logging.getLogger("clmapreduce")
LOG.addHandler(logging.NullHandler())
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
FORM = "%(asctime)s clmapreduce %(levelname)s: %(message)s"


class _OnStderr(logging.Handler):
    """Writes lines to stderr, unless the program has handlers of its own: those get the records anyway."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers and sys.stderr is not None:
            try:
                print(self.format(record), file=sys.stderr, flush=True)
            except (OSError, ValueError):  # stderr is closed
                self.handleError(record)


def log_as_set() -> None:
    """Logs at the level that $CLMR_LOG names. Another word is warned of: no import fails for it."""
    level = os.environ.get("CLMR_LOG", "").strip()
    if level and level.upper() not in LEVELS:
        levels = ", ".join(LEVELS).lower()
        warnings.warn(f"CLMR_LOG is {level!r}, and nothing is logged; use {levels}", RuntimeWarning, stacklevel=2)
    elif level:
        handler = _OnStderr()
        handler.setFormatter(logging.Formatter(FORM))
        LOG.addHandler(handler)
        LOG.setLevel(level.upper())


log_as_set()
