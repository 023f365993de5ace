"""The errors users see. Each says what was passed, what is wrong, and what would work."""

from __future__ import annotations


class ClMapReduceError(Exception):
    """Base of everything this library raises on purpose."""


class ShapeError(ClMapReduceError, ValueError):
    """Shapes or lengths that do not fit together."""


class PlaceError(ClMapReduceError, IndexError):
    """An index that names no element or axis of the array."""


class DTypeError(ClMapReduceError, TypeError):
    """A dtype that the operation, the operator or the device does not support without a loss of data."""


class ArgumentError(ClMapReduceError, TypeError):
    """An argument of a kind that the call does not take, or a keyword that it does not know."""


class SettingError(ClMapReduceError, ValueError):
    """An environment variable with a wrong value."""


class ExportError(ClMapReduceError, BufferError):
    """Values that cannot be passed to another library in the way that it asks for: without a copy, on another device,
    or in that dtype.
    """


class FormulaError(ClMapReduceError, ValueError):
    """A formula, traced or parsed, that cannot become a kernel."""


class ModeError(ClMapReduceError, ValueError):
    """A compute mode, calling convention or option that the primitive does not offer."""


class DeviceError(ClMapReduceError, RuntimeError):
    """No device fits, several devices fit, or a driver refused a launch."""


class Cancelled(ClMapReduceError, RuntimeError):
    """`Context.cancel` ended a long call: what was not launched yet does not run, and there are no results."""


class TimedOut(ClMapReduceError, TimeoutError):
    """Values have not come in the time for which they were waited for. Their command goes on."""


class BuildError(ClMapReduceError, RuntimeError):
    """A driver's compiler refused a kernel; the message shows the numbered source lines around the error."""


class DeviceMemoryError(ClMapReduceError, MemoryError):
    """More memory is needed than the device has, or than its limit allows. The device can still be used."""


class StorageError(ClMapReduceError, OSError):
    """An array is mapped from a file, and the disk has no room for it."""


class LostDigits(UserWarning):
    """The terms of a sum cancel so much that fewer digits are right than `digits=` asks for."""
