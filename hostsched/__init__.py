"""When and where jobs run: devices, queues, buffers, programs, and jobs whose waits follow from what they read and
write.
"""

from hostsched.compiler.build import build
from hostsched.compiler.disk_cache import cache_folder
from hostsched.device.choice import devices, select_device, spec_of, unusable_devices
from hostsched.device.device import Device, DeviceFacts
from hostsched.device.traits import DriverTraits
from hostsched.driver.refusal import may_fork
from hostsched.driver.report import RuntimeReport, report
from hostsched.driver.runtimes import platforms
from hostsched.errors import (
    Cancelled,
    DeviceNotFound,
    ForkedProcess,
    HostSchedError,
    InterpreterEnding,
    InvalidSetting,
    LaunchError,
    OutOfDeviceMemory,
    ProgramBuildError,
    TimedOut,
    WrongArgument,
)
from hostsched.jobs.graph import JobGraph
from hostsched.jobs.job import CopyJob, FillJob, Job, KernelJob, MapJob, ReadJob, WriteJob
from hostsched.jobs.lending import lend
from hostsched.jobs.pinned import read_back
from hostsched.jobs.progress import advance, announce, expect, following
from hostsched.jobs.replay import Launch, Replay
from hostsched.jobs.staging import Staging, copy_to_device, copy_to_host, gains_by_staging
from hostsched.kernels.build_record import BuildRecord
from hostsched.kernels.program import Kernel, Program
from hostsched.memory.arena import Arena
from hostsched.memory.buffer import Buffer
from hostsched.queue.profile import Profile, Record, trace_events, write_trace
from hostsched.queue.queue import Queue
from hostsched.queue.shared_context import SharedContext, new_context
from hostsched.queue.submission import Submission
from hostsched.settings import as_bytes

__all__ = [
    "Arena",
    "Buffer",
    "BuildRecord",
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
    "Staging",
    "Submission",
    "TimedOut",
    "WriteJob",
    "WrongArgument",
    "advance",
    "announce",
    "as_bytes",
    "build",
    "cache_folder",
    "copy_to_device",
    "copy_to_host",
    "devices",
    "expect",
    "following",
    "gains_by_staging",
    "lend",
    "may_fork",
    "new_context",
    "platforms",
    "read_back",
    "report",
    "select_device",
    "spec_of",
    "trace_events",
    "unusable_devices",
    "write_trace",
]
