"""Keeps program binaries on disk: checksummed, never pickled, in a folder that only its owner may write to.

One file per program: a line of JSON, then the binary. Whatever looks odd is treated as absent, so a damaged, foreign
or outdated file costs a rebuild and nothing else. Turned off by $CLMR_NO_CACHE (1, true or yes); the folder is
$CLMR_CACHE_DIR, else the user's cache folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import pathlib
import stat
import tempfile
import time

import platformdirs

from hostsched.settings import switch

__all__ = ["cache_folder", "cache_key", "load", "store"]

_FORMAT = 1
# Without O_NONBLOCK the open of a FIFO waits for a writer that never comes.
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
# A header takes less than 250 bytes. The limit bounds both the read and the depth of JSON.
_HEADER_LIMIT = 512
_ABANDONED = 3600.0
"""Seconds after which a file that was not finished belongs to a process that was killed."""
_swept: set[pathlib.Path] = set()
_log = logging.getLogger("clmapreduce.hostsched")


def cache_folder() -> pathlib.Path | None:
    """The folder of the cache, created if necessary; None if the cache is turned off, or the folder cannot be used
    (which is logged).
    """
    if switch("CLMR_NO_CACHE"):
        return None
    folder = pathlib.Path(os.environ.get("CLMR_CACHE_DIR") or platformdirs.user_cache_dir("clmapreduce"))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        _log.info("no program cache: %s", error)
        return None
    if not _is_ours(status):
        _log.warning(
            "no program cache: %s is owned by someone else or writable for others; make it yours with mode 0700", folder
        )
        return None
    return folder


def cache_key(*parts: str) -> str:
    """A SHA-256 over `parts` and the format's number, in hexadecimal; where one part ends matters."""
    return hashlib.sha256(json.dumps([_FORMAT, *parts]).encode()).hexdigest()


def load(key: str) -> bytes | None:
    """The binary stored under `key`, None if there is none or anything about it is odd."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        handle = os.open(folder / f"{key}.bin", _OPEN_FLAGS)
        # A raw handle, since open() itself raises on a directory and leaves the handle open.
        if not _is_our_file(os.fstat(handle)):
            os.close(handle)
            return None
        with open(handle, "rb") as file:
            header = json.loads(file.readline(_HEADER_LIMIT))
            # The size is compared before the read, so a huge file costs no memory.
            if not isinstance(header, dict) or header.get("bytes") != os.fstat(handle).st_size - file.tell():
                return None
            binary = file.read()
        sound = header == _header(key, binary)
    except (OSError, ValueError, RecursionError):
        return None
    return binary if sound else None



def store(key: str, binary: bytes) -> None:
    """Keeps `binary` under `key`: whole or not at all, since other processes may read at the same time. Failures are
    ignored.
    """
    folder = cache_folder()
    if folder is None:
        return
    _sweep(folder)
    try:
        handle, name = tempfile.mkstemp(dir=folder, suffix=".tmp")
    except OSError as error:
        _log.info("program not cached: %s", error)
        return
    try:
        with open(handle, "wb") as file:
            file.write(json.dumps(_header(key, binary)).encode() + b"\n" + binary)
        os.replace(name, folder / f"{key}.bin")
    except OSError as error:
        _log.info("program not cached: %s", error)
        with contextlib.suppress(OSError):
            os.unlink(name)


def _sweep(folder: pathlib.Path) -> None:
    """Removes what processes left there that were killed while they stored; once per process."""
    if folder in _swept:
        return
    _swept.add(folder)
    for path in folder.glob("*.tmp"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < time.time() - _ABANDONED:
                path.unlink()


def _header(key: str, binary: bytes) -> dict[str, object]:
    return {"format": _FORMAT, "key": key, "sha256": hashlib.sha256(binary).hexdigest(), "bytes": len(binary)}


def _is_our_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and _is_ours(status)


def _is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user and no other user may write to it. Windows guards the user's folder
    itself.
    """
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
