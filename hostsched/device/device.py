"""A device, and what planning needs to know of it, read once and frozen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

import pyopencl as cl

from hostsched.device.traits import DriverTraits, traits_of, with_subgroups, with_wide_vectors
from hostsched.errors import WrongArgument

__all__ = ["Device", "DeviceFacts", "read_facts"]

# Who made the driver, by what its platform's name or vendor contains. PoCL first: it names no hardware maker.
_DRIVER_MAKERS = (
    ("portable computing language", "pocl"),
    ("nvidia", "nvidia"),
    ("advanced micro devices", "amd"),
    ("amd ", "amd"),
    ("intel", "intel"),
    ("apple", "apple"),
)
_WIDE = 16  # float32 in 512 bits
_SUBGROUPS = {"nvidia": 32, "amd": 64}
# What cl_templates/vendor/subgroups relies on; the last one takes the width of sub-groups from the kernel.
_SUBGROUP_EXTENSIONS = frozenset((
    "cl_khr_subgroup_shuffle", "cl_khr_subgroup_shuffle_relative", "cl_khr_subgroup_ballot",
    "cl_intel_required_subgroup_size",
))  # fmt: skip


@dataclass(frozen=True)
class DeviceFacts:
    """Everything that planning may depend on; sizes in bytes.

    `vendor` is the maker of the driver ("nvidia" "amd" "intel" "pocl" "apple" "other"), so an AMD processor with
    Intel's runtime is "intel". `kind` is "gpu", "cpu" or "accelerator". `lanes` is the best number of float32 in an
    explicit vector: 16 on a CPU (one 512-bit or two 256-bit registers), 4 on a GPU (one 128-bit load). `subgroup` is
    the width of the vendor's lock-step group, 1 where code may not rely on one. `sized_subgroups` says whether kernels
    may choose the width of OpenCL's sub-groups, whose items exchange registers; `vector_floats` is the number of
    float32 in one register of the device. `matrix_units` says whether such groups have instructions that multiply
    matrices of float16, and asynchronous copies to local memory (NVIDIA, capability 8.0 on). `base_alignment` is the
    alignment of the driver's buffers. `maps_memory` is False where a mapped buffer cannot be unmapped: in Mesa's
    rusticl (22.3.6) that fails, and pyopencl ends the process when it unmaps. `sound_groups` is False where the driver
    computes groups of several work-items wrongly: PoCL from 5.0 on, on CPUs (see docs/concepts/architecture.md); groups
    of one item are right there.
    """

    name: str
    platform: str
    platform_version: str
    vendor: str
    kind: str
    version: str
    driver: str
    compute_units: int
    max_group_size: int
    local_memory: int
    global_memory: int
    max_allocation: int
    lanes: int
    fp16: bool
    fp64: bool
    host_unified: bool
    host_pointers: bool
    maps_memory: bool
    out_of_order: bool
    little_endian: bool
    base_alignment: int
    subgroup: int
    sized_subgroups: bool
    vector_floats: int
    matrix_units: bool
    sound_groups: bool
    extensions: tuple[str, ...]

    @property
    def traits(self) -> DriverTraits:
        """How the driver's maker differs from others, on this device."""
        traits = traits_of(self.vendor)
        if traits.wide_from is not None and self.kind == "cpu" and self.vector_floats >= _WIDE:
            return with_wide_vectors(traits) if pocl_version(self.platform_version) >= traits.wide_from else traits
        width = traits.cpu_subgroups
        suits = self.kind == "cpu" and self.sized_subgroups and 1 < width <= self.vector_floats
        return with_subgroups(traits, width) if suits else traits

    @property
    def lends_memory(self) -> bool:
        """Whether kernels may use host arrays in place. On other devices these are copied."""
        return self.host_unified and self.maps_memory


class Device:
    """One OpenCL device: `facts` to plan with, `cl_device` to run on. Equal and hashed as its cl_device is."""

    __slots__ = ("cl_device", "facts")

    def __init__(self, cl_device: cl.Device) -> None:
        if not isinstance(cl_device, cl.Device):
            raise WrongArgument(f"{cl_device!r:.80} is no pyopencl.Device; select_device takes names")
        self.cl_device = cl_device
        self.facts = read_facts(cl_device)

    def __deepcopy__(self, _memo: object) -> Device:
        """The device itself, as for `copy.copy`."""
        return self

    def __copy__(self) -> Device:
        return self

    def __reduce__(self) -> str:
        """A device belongs to its process. Raises TypeError."""
        raise TypeError(
            f"{self!r} belongs to this process and cannot be pickled; pass its name, and select it there: "
            f"select_device({self.name!r})"
        )

    @property
    def name(self) -> str:
        """The device's own name, such as "NVIDIA H200"."""
        return self.facts.name

    @property
    def platform(self) -> str:
        """The name of the platform (driver) that offers it."""
        return self.facts.platform

    @property
    def vendor(self) -> str:
        """Who made the driver: "nvidia", "amd", "intel", "pocl", "apple" or "other"."""
        return self.facts.vendor

    @property
    def kind(self) -> str:
        """What it is: "gpu", "cpu" or "accelerator"."""
        return self.facts.kind

    @property
    def version(self) -> str:
        """The OpenCL version string of the device."""
        return self.facts.version

    @property
    def driver(self) -> str:
        """The driver's version string."""
        return self.facts.driver

    @property
    def compute_units(self) -> int:
        """How many work-groups run at once, at least: cores or multiprocessors."""
        return self.facts.compute_units

    @property
    def local_memory(self) -> int:
        """Bytes of local memory a work-group may use."""
        return self.facts.local_memory

    @property
    def global_memory(self) -> int:
        """Bytes of device memory."""
        return self.facts.global_memory

    @property
    def lanes(self) -> int:
        """How many float32 an explicit vector should have here."""
        return self.facts.lanes

    @property
    def fp16(self) -> bool:
        """Whether kernels may compute in half precision."""
        return self.facts.fp16

    @property
    def fp64(self) -> bool:
        """Whether kernels may compute in double precision."""
        return self.facts.fp64

    @property
    def sound_groups(self) -> bool:
        """Whether the driver computes groups of several work-items right; where not, only mode="sequential" runs."""
        return self.facts.sound_groups

    @property
    def modes(self) -> tuple[str, ...]:
        """The words for `mode=` that run here, beside "auto"."""
        return ("sequential", "parallel") if self.sound_groups else ("sequential",)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.cl_device == other.cl_device

    def __hash__(self) -> int:
        return hash(self.cl_device)

    def __repr__(self) -> str:
        facts = self.facts
        units = f"{facts.compute_units} compute units, {facts.global_memory / 2**30:.1f} GiB"
        return f"<Device {facts.name!r}: {facts.kind}, {units}, {facts.platform} {facts.driver}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the device's facts."""
        rows = {
            "device": self.name, "kind": self.kind, "platform": f"{self.platform} {self.driver}",
            "version": self.version, "compute units": self.compute_units,
            "memory": f"{self.global_memory / 2**30:.1f} GiB", "local memory": f"{self.local_memory / 2**10:g} KiB",
            "floats of 16, 64 bits": ", ".join("yes" if has else "no" for has in (self.fp16, self.fp64)),
            "modes": ", ".join(self.modes),
        }  # fmt: skip
        cells = (f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows.items())
        return f"<table>{''.join(cells)}</table>"


def read_facts(device: cl.Device) -> DeviceFacts:
    """What `device` and its platform say of themselves. Asks the driver; starts nothing."""
    platform = device.platform
    vendor = _driver_maker(platform)
    kind = _kind(device.type)
    extensions = tuple(device.extensions.split())
    return DeviceFacts(
        name=device.name.strip(" \0"),
        platform=platform.name.strip(" \0"),
        platform_version=platform.version.strip(),
        vendor=vendor,
        kind=kind,
        version=device.version.strip(),
        driver=device.driver_version.strip(),
        compute_units=device.max_compute_units,
        max_group_size=device.max_work_group_size,
        local_memory=device.local_mem_size,
        global_memory=device.global_mem_size,
        max_allocation=device.max_mem_alloc_size,
        lanes=16 if kind == "cpu" else 4,
        fp16="cl_khr_fp16" in extensions or _capability(device, vendor) >= (5, 3),
        fp64="cl_khr_fp64" in extensions,
        host_unified=bool(device.host_unified_memory),
        host_pointers=kind == "cpu" and _takes_host_pointers(device),
        maps_memory="rusticl" not in platform.name.lower(),
        out_of_order=bool(device.queue_properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE),
        little_endian=bool(device.endian_little),
        base_alignment=max(1, device.mem_base_addr_align // 8),
        subgroup=_SUBGROUPS.get(vendor, 1) if kind == "gpu" else 1,
        sized_subgroups=_SUBGROUP_EXTENSIONS.issubset(extensions),
        vector_floats=device.native_vector_width_float,
        matrix_units=_capability(device, vendor) >= (8, 0),
        sound_groups=not (kind == "cpu" and pocl_version(platform.version) >= (5, 0)),
        extensions=extensions,
    )


def pocl_version(text: str) -> tuple[int, int]:
    """PoCL's version in the version string of its platform; (0, 0) of another driver's."""
    match = re.search(r"\bPoCL (\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _driver_maker(platform: cl.Platform) -> str:
    label = f"{platform.name} {platform.vendor} ".lower()
    return next((maker for part, maker in _DRIVER_MAKERS if part in label), "other")


def _kind(device_type: int) -> str:
    """A GPU is what does not claim to be a CPU as well: the oclgrind simulator claims every type at once."""
    if device_type & cl.device_type.CPU:
        return "cpu"
    return "gpu" if device_type & cl.device_type.GPU else "accelerator"


def _takes_host_pointers(device: cl.Device) -> bool:
    """Fine-grained system SVM. Intel's CPU runtime has it; without, it copies arrays that start inside a page."""
    try:
        return bool(device.svm_capabilities & cl.device_svm_capabilities.FINE_GRAIN_SYSTEM)
    except (AttributeError, cl.Error):
        return False


def _capability(device: cl.Device, vendor: str) -> tuple[int, int]:
    """What NVIDIA calls a device's compute capability; (0, 0) of another maker's, and where the driver does not say.

    From 5.3 on the driver builds cl_khr_fp16 by pragma without listing it (580.159, H200).
    """
    if vendor != "nvidia":
        return 0, 0
    try:
        return device.compute_capability_major_nv, device.compute_capability_minor_nv
    except (AttributeError, cl.Error):
        return 0, 0
