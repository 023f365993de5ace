"""How the drivers of one maker differ from others. Beside the vocabularies of kernels (cl_templates/vendor) and the
choice of a device by name, this is the only place that asks who made a driver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["DriverTraits", "traits_of", "with_subgroups", "with_wide_vectors"]


@dataclass(frozen=True)
class DriverTraits:
    """How kernels are written for a driver, and how its runtime differs from others. Defaults are what OpenCL promises.

    vocabulary: the helpers that kernels use, a file of cl_templates/vendor, or several: "a+b". exchange_width: how many
    work-items exchange registers, a power of two and at most 32, the items of a warp. cpu_subgroups: the same by
    OpenCL's sub-groups, on CPUs whose vectors hold that many float32. wide_from: PoCL's version from which on
    its compiler takes operators on vectors of 512 bits, on CPUs that have them; None where its vocabulary says it all.
    register_fragments: whether work-items hold operands of matrix products in registers, in a known layout.
    limits_registers: whether the compiler accepts a limit of an item's registers. groups_may_return: whether a group
    may leave a loop with barriers early, all its items together. groups_progress: whether a group that has started goes
    on while others wait for it. halves_wide_calls: whether the library's functions take vectors of at most 256 bits.
    vectors_of_half: whether the compiler builds vectors of float16. keeps_kernels: whether the driver itself stores
    built kernels on disk. compiles_at_once: whether several threads may build programs at once, and gain by it.
    retry_pauses: seconds before a build is tried again that failed without an error in its log. counts_versions:
    whether launches of one kernel with other grids or offsets must wait for each other. one_waiter: whether at most one
    thread may wait inside the driver. loads_late: whether threads of the driver load a kernel's code when it is first
    launched. correct_division: build options with which quotients and square roots of float32 are rounded correctly,
    where they are not without. short_offsets: whether kernels see a global offset as an int.
    device_fences: whether the vocabulary's fence between what a group writes and reads counts for the whole device; the
    processor of a CPU sees to that itself. quick_functions: whether logarithms, sines and cosines take an instruction
    or two where their errors may be small beside 1 only.
    """

    vocabulary: str = "portable"
    exchange_width: int = 1
    cpu_subgroups: int = 1
    wide_from: tuple[int, int] | None = None
    register_fragments: bool = False
    limits_registers: bool = False
    groups_may_return: bool = False
    groups_progress: bool = False
    device_fences: bool = False
    halves_wide_calls: bool = False
    vectors_of_half: bool = True
    keeps_kernels: bool = False
    compiles_at_once: bool = False
    retry_pauses: tuple[float, ...] = ()
    counts_versions: bool = False
    one_waiter: bool = False
    loads_late: bool = False
    correct_division: tuple[str, ...] = ()
    short_offsets: bool = False
    quick_functions: bool = False


_TRAITS = {
    "nvidia": DriverTraits(
        "nvidia", exchange_width=32, register_fragments=True, limits_registers=True, groups_may_return=True,
        device_fences=True,
        groups_progress=True, vectors_of_half=False, correct_division=("-cl-fp32-correctly-rounded-divide-sqrt",),
        quick_functions=True, compiles_at_once=True, short_offsets=True,  # PTX has them in %envreg3, %envreg4, %envreg5
    ),
    "intel": DriverTraits("intel", cpu_subgroups=16, groups_progress=True, one_waiter=True),
    # PoCL fails to build, without an error in its log, where another process is writing the same kernel into its cache:
    # 1 of 200 cold starts, in groups of eight processes (PoCL 3.0). The build is right once the other has written.
    "pocl": DriverTraits(
        "pocl", halves_wide_calls=True, keeps_kernels=True, retry_pauses=(0.1, 0.5, 2.0), counts_versions=True,
        loads_late=True, wide_from=(5, 0),
    ),
}  # fmt: skip


def traits_of(vendor: str) -> DriverTraits:
    """The traits of a maker's drivers ("nvidia", "pocl", …); OpenCL's promises where nothing else is known."""
    return _TRAITS.get(vendor, DriverTraits())


def with_wide_vectors(traits: DriverTraits) -> DriverTraits:
    """The same traits with the words for vectors of 512 bits before their own."""
    return replace(traits, vocabulary=f"wide+{traits.vocabulary.removeprefix('wide+')}")


def with_subgroups(traits: DriverTraits, width: int) -> DriverTraits:
    """The same traits with the words of OpenCL's sub-groups before their own; `width` items exchange registers."""
    files = traits.vocabulary.removeprefix("subgroups+")
    return replace(traits, vocabulary=f"subgroups+{files}", exchange_width=width)
