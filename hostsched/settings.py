"""Settings in the environment: each reader names the variable, what it holds and what would work."""

from __future__ import annotations

import os
import pathlib
import re

from hostsched.errors import InvalidSetting

__all__ = ["as_bytes", "driver_settings", "nbytes", "switch", "usable_folder"]

_WORDS = {"1": True, "true": True, "yes": True, "on": True, "": False, "0": False, "false": False, "no": False,
          "off": False}  # fmt: skip
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_DRIVERS = ("CL_CONFIG_", "POCL_", "INTEL_", "OCL_", "RUSTICL_")


def switch(name: str) -> bool:
    """Whether a setting is on: 1, true, yes or on. It is off where it is not set. Raises InvalidSetting."""
    text = os.environ.get(name, "").strip()
    if text.lower() not in _WORDS:
        raise InvalidSetting(f"{name} is {text!r}; use 1, true, yes or on, or 0, false, no or off")
    return _WORDS[text.lower()]


def nbytes(name: str) -> int | None:
    """The bytes that a setting allows ("500000000", "512M", "4G", "1.5GiB"), None where it is not set. Raises
    InvalidSetting.
    """
    text = os.environ.get(name, "").strip()
    return as_bytes(text, name) if text else None


def as_bytes(text: str, name: str) -> int:
    """The number of bytes in a text such as "4M". name: the setting, for the error. Raises InvalidSetting."""
    text = text.strip()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text, re.ASCII | re.IGNORECASE)
    if match is None:
        raise InvalidSetting(f"{name} is {text!r}; give bytes, or a number with K, M, G or T, such as 4G")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def usable_folder(name: str) -> pathlib.Path | None:
    """The folder that a setting names, made if need be; None where it is not set. Raises InvalidSetting."""
    text = os.environ.get(name)
    if not text:
        return None
    folder = pathlib.Path(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidSetting(f"{name} is {text!r}; name a folder that can be made: {error.strerror}") from error
    return folder


def driver_settings() -> str:
    """The variables that drivers read, as an error names them; "" where there are none."""
    settings = [f"{name}={value!r}" for name, value in sorted(os.environ.items()) if name.startswith(_DRIVERS)]
    if not settings:
        return ""
    return f"; drivers read {', '.join(settings)} from the environment: unset what the driver may not know"
