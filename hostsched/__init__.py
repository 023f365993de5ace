"""When and where jobs run: devices, queues, buffers, programs, and jobs whose waits follow from what they read and
write.
"""

from .arena import Arena
from .buffer import Buffer
from .build import build
from .choice import devices, select_device
from .context import SharedContext
from .device import Device, DeviceFacts
from .disk_cache import cache_folder
from .errors import (
    Cancelled,
    DeviceNotFound,
    ForkedProcess,
    HostSchedError,
    InterpreterEnding,
    InvalidSetting,
    LaunchError,
    OutOfDeviceMemory,
    ProgramBuildError,
    WrongArgument,
)
from .graph import JobGraph
from .job import CopyJob, FillJob, Job, KernelJob, MapJob, ReadJob, WriteJob
from .pinned import read_back
from .profile import Profile, Record, trace_events
from .program import Kernel, Program
from .progress import following
from .queue import Queue
from .replay import Launch, Replay
from .report import RuntimeReport, report
from .runtimes import platforms
from .submission import Submission
from .traits import DriverTraits

__all__ = [
    "Arena",
    "Buffer",
    "Cancelled",
    "CopyJob",
    "Device",
    "DeviceFacts",
    "DeviceNotFound",
    "DriverTraits",
    "FillJob",
    "ForkedProcess",
    "HostSchedError",
    "InterpreterEnding",
    "InvalidSetting",
    "Job",
    "JobGraph",
    "Kernel",
    "KernelJob",
    "Launch",
    "LaunchError",
    "MapJob",
    "OutOfDeviceMemory",
    "Profile",
    "Program",
    "ProgramBuildError",
    "Queue",
    "ReadJob",
    "Record",
    "Replay",
    "RuntimeReport",
    "SharedContext",
    "Submission",
    "WriteJob",
    "WrongArgument",
    "build",
    "cache_folder",
    "devices",
    "following",
    "platforms",
    "read_back",
    "report",
    "select_device",
    "trace_events",
]
