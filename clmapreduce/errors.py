"""The errors users see. Each says what was given, what was found, and what would work."""

from __future__ import annotations


class ClMapReduceError(Exception):
    """Base of everything this library raises on purpose."""


class ShapeError(ClMapReduceError, ValueError):
    """Shapes or lengths that do not fit together."""


class PlaceError(ClMapReduceError, IndexError):
    """An index that names no element or axis of the array."""


class DTypeError(ClMapReduceError, TypeError):
    """A dtype that the operation, the operator or the device cannot serve without losing data."""


class ArgumentError(ClMapReduceError, TypeError):
    """An argument of a kind that the call does not take, or a keyword that it does not know."""


class SettingError(ClMapReduceError, ValueError):
    """A variable of the environment that holds what its setting cannot be."""


class ExportError(ClMapReduceError, BufferError):
    """Values that another library cannot take as it asks: without a copy, on another device, or of that dtype."""


class FormulaError(ClMapReduceError, ValueError):
    """A formula, traced or parsed, that cannot become a kernel."""


class ModeError(ClMapReduceError, ValueError):
    """A compute mode, calling convention or option that the primitive does not offer."""


class DeviceError(ClMapReduceError, RuntimeError):
    """No fitting device, an ambiguous wish, or a driver that refused a launch."""


class Cancelled(ClMapReduceError, RuntimeError):
    """A long call was cancelled by `Context.cancel`: what it had not launched yet never runs, its results are void."""


class BuildError(ClMapReduceError, RuntimeError):
    """A driver's compiler refused a kernel; the message shows the numbered source around the complaint."""


class DeviceMemoryError(ClMapReduceError, MemoryError):
    """More memory than the device, or the limit set for it, can give. The device stays usable."""


class StorageError(ClMapReduceError, OSError):
    """A file that an array is mapped from, and the disk that it lies on has no room for the array."""


class LostDigits(UserWarning):
    """A sum whose terms cancel so much that fewer digits are right than were asked for."""
