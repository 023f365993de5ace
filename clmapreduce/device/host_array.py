"""Host arrays in files, which may be shorter than the arrays by now, and host arrays that pass through device memory a
part at a time, whose files are checked part by part.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from clmapreduce.errors import ShapeError, StorageError


class HostArray:
    """A C-contiguous host array as its bytes. nbytes: of an entry, which is an index of a line or a row of a batch.
    partly: whether kernels leave some of it as it is.
    """

    def __init__(self, values: np.ndarray[Any, Any], nbytes: int, name: str, partly: bool = False) -> None:
        self.nbytes, self.partly = nbytes, partly
        self._name = name
        self._bytes = values.reshape(-1).view(np.uint8)
        self._file = _file_of(self._bytes)

    def shares_memory(self, other: HostArray) -> bool:
        """Whether a byte of it may be one of another array's."""
        return np.may_share_memory(self._bytes, other._bytes)

    def part(self, first: int, count: int) -> np.ndarray[Any, Any]:
        """The bytes of `count` entries. Raises ShapeError where the file behind the array ends before them: to read
        there would end the process.
        """
        begin, end = first * self.nbytes, (first + count) * self.nbytes
        if self._file is not None:
            mapping, offset = self._file
            _check_size(mapping, offset + end, offset + self._bytes.nbytes, self._name)
        return self._bytes[begin:end]


def check_file(values: np.ndarray[Any, Any], name: str) -> None:
    """Raises ShapeError where the file behind an array ends before the array: to read there would end the process.
    Arrays that lie in no file pass.
    """
    if values.base is None or not values.size:
        return
    file = _file_of(values)
    if file is not None:
        mapping, offset = file
        steps = zip(values.shape, values.strides, strict=True)
        reach = offset + values.itemsize + sum((extent - 1) * max(stride, 0) for extent, stride in steps)
        _check_size(mapping, reach, reach, name)


def _check_size(mapping: mmap.mmap, needed: int, reach: int, name: str) -> None:
    """Raises ShapeError for a file of fewer bytes than are needed. reach: where the array ends in it."""
    size = mapping.size()
    if size < needed:
        raise ShapeError(
            f"{name} is mapped from a file that has {size} bytes now, and reaches to byte {reach}; the file was "
            "truncated, nothing of the result counts"
        )


def check_disk(values: np.ndarray[Any, Any], name: str) -> None:
    """Raises StorageError where an array is mapped from a file that has holes, and the disk has no room to fill them:
    to write there would end the process. Other arrays pass, and all where the system does not tell.
    """
    root = _root(values)
    if not isinstance(root, np.memmap) or root.filename is None or not hasattr(os, "statvfs"):
        return
    try:
        file, disk = os.stat(root.filename), os.statvfs(root.filename)
    except OSError:
        return
    missing = min(values.nbytes, file.st_size - file.st_blocks * 512)
    room = disk.f_bavail * disk.f_frsize
    if missing > room:
        raise StorageError(
            f"{name} is mapped from {str(root.filename)!r}, of which {missing} bytes are not on the disk yet, and it "
            f"has room for {room}; nothing was computed: make room, or name a file on another disk"
        )


def _root(values: np.ndarray[Any, Any]) -> Any:
    """The array whose memory no other array owns."""
    root: Any = values
    while isinstance(root, np.ndarray) and isinstance(root.base, np.ndarray):
        root = root.base
    return root


def _file_of(values: np.ndarray[Any, Any]) -> tuple[mmap.mmap, int] | None:
    """(the mapping, where the array begins in its file) of an array that lies in a file; None for any other."""
    root = _root(values)
    mapping = root.base if isinstance(root, np.ndarray) else root
    if isinstance(mapping, memoryview):
        mapping = mapping.obj
    if not isinstance(mapping, mmap.mmap):
        return None
    try:
        mapping.size()
    except OSError:  # memory without a file
        return None
    offset = root.offset if isinstance(root, np.memmap) else 0
    start = offset - offset % mmap.ALLOCATIONGRANULARITY  # np.memmap maps whole pages
    return mapping, start + values.ctypes.data - int(np.frombuffer(mapping, np.uint8).ctypes.data)
