"""Which device a user's words name. The order among kinds of devices is tested on facts alone."""

from __future__ import annotations

import dataclasses
import random

import pytest

from hostsched import Device, DeviceFacts, DeviceNotFound, devices, platforms, select_device
from hostsched.device.choice import merit, rank
from hostsched.device.traits import traits_of, with_subgroups, with_wide_vectors


@pytest.fixture(autouse=True)
def no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLMR_DEVICE", raising=False)
    monkeypatch.delenv("PYOPENCL_CTX", raising=False)


def facts(**changes: object) -> DeviceFacts:
    """Facts of a small CPU device with some of them changed."""
    plain = DeviceFacts(
        name="cpu",
        platform="some platform",
        platform_version="OpenCL 1.2",
        vendor="other",
        kind="cpu",
        version="OpenCL 1.2",
        driver="1",
        compute_units=2,
        max_group_size=64,
        local_memory=1 << 15,
        global_memory=1 << 30,
        max_allocation=1 << 28,
        lanes=16,
        fp16=False,
        fp64=True,
        host_unified=True,
        host_pointers=False,
        maps_memory=True,
        out_of_order=True,
        little_endian=True,
        base_alignment=128,
        subgroup=1,
        sized_subgroups=False,
        vector_floats=8,
        matrix_units=False,
        sound_groups=True,
        extensions=(),
    )
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def test_the_order_of_merit() -> None:
    best_first = [
        facts(kind="gpu", vendor="nvidia", host_unified=False, compute_units=132, global_memory=1 << 37),
        facts(kind="gpu", vendor="amd", host_unified=False, compute_units=60, global_memory=1 << 34),
        facts(kind="gpu", vendor="intel", host_unified=True, compute_units=96),
        facts(kind="gpu", vendor="pocl", host_unified=False, compute_units=132, global_memory=1 << 37),
        facts(vendor="intel"),
        facts(vendor="pocl", platform_version="OpenCL 3.0 PoCL 10.1  Linux"),
        facts(vendor="pocl", platform_version="OpenCL 3.0 PoCL 6.0  Linux"),
        facts(vendor="pocl", platform_version="OpenCL 3.0 PoCL 3.0-rc2  Linux"),
        facts(vendor="pocl", platform_version="OpenCL 3.0"),
        facts(vendor="other"),
        facts(kind="accelerator", vendor="intel"),
    ]
    any_order = random.Random(1).sample(best_first, len(best_first))
    assert sorted(any_order, key=merit, reverse=True) == best_first


def test_devices_are_ranked_whatever_the_loaders_order() -> None:
    in_rank_order = devices()
    assert in_rank_order, "no OpenCL device: install clmapreduce[cpu] to run the tests"
    merits = [merit(device.facts) for device in in_rank_order]
    assert merits == sorted(merits, reverse=True)
    assert rank(in_rank_order[::-1]) == rank(in_rank_order) or len(set(merits)) < len(merits)
    in_rank_order.clear()
    assert devices(), "the list handed out is the caller's"


def test_a_pocl_that_is_installed_twice_is_listed_once() -> None:
    pocl = [device for device in devices() if device.vendor == "pocl" and device.kind == "cpu"]
    if not pocl:
        pytest.skip("no PoCL here")
    assert len(rank([*devices(), *pocl])) == len(devices())


def test_gpus_and_cpus_of_other_makers_are_never_collapsed() -> None:
    others = [device for device in devices() if device.vendor != "pocl"]
    if not others:
        pytest.skip("only PoCL here")
    assert len(rank(others + others)) == 2 * len(others)


def test_none_gives_the_best() -> None:
    assert select_device() == select_device(None) == devices()[0]


def test_a_device_is_taken_as_it_is(device: Device) -> None:
    assert select_device(device) is device
    assert select_device(device.cl_device) == device


def test_class_words_give_the_best_of_their_class(device: Device) -> None:
    assert select_device(device.kind) == next(other for other in devices() if other.kind == device.kind)
    if device.vendor != "other":
        assert select_device(device.vendor.upper()) == next(
            other for other in devices() if other.vendor == device.vendor
        )


def test_parts_of_names(device: Device) -> None:
    middle = device.platform[1:-1].upper()
    same_platform = {other.name for other in devices() if middle.lower() in other.platform.lower()}
    if len(same_platform) == 1:
        assert select_device(middle).name == device.name


def test_pairs_of_indices_and_names(device: Device) -> None:
    platform = device.cl_device.platform
    at, under = platforms().index(platform), platform.get_devices().index(device.cl_device)
    specs = [f"{at}:{under}", f"{at}", f"{at}:", f"{at}:{device.name}", f" {at} : {under} "]
    if [other.name for other in platforms()].count(device.platform) == 1:  # two versions of PoCL share a name
        specs.append(f"{device.platform}:{under}")
    for spec in specs:
        assert select_device(spec).cl_device.platform == platform
        if len(platform.get_devices()) == 1:
            assert select_device(spec) == device


def test_the_environment_chooses(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = device.cl_device.platform
    pair = f"{platforms().index(platform)}:{platform.get_devices().index(device.cl_device)}"
    monkeypatch.setenv("PYOPENCL_CTX", pair)
    assert select_device() == device
    monkeypatch.setenv("PYOPENCL_CTX", "nothing of this kind")
    monkeypatch.setenv("CLMR_DEVICE", pair)
    assert select_device() == device
    monkeypatch.setenv("CLMR_DEVICE", "nothing of this kind")
    with pytest.raises(DeviceNotFound, match=r'\$CLMR_DEVICE="nothing of this kind"'):
        select_device()
    assert select_device(device) is device


def test_several_fits_are_an_error_but_not_for_pyopencl_ctx(monkeypatch: pytest.MonkeyPatch) -> None:
    different = {(device.name, device.platform) for device in devices()}
    letter = "o"  # every platform's name has one: OpenCL, Portable Computing Language, NVIDIA's is "CUDA"
    fitting = [device for device in devices() if letter in f"{device.platform}\n{device.name}".lower()]
    if len(different) < 2 or len(fitting) < 2:
        pytest.skip("needs two different devices")
    with pytest.raises(DeviceNotFound, match="fits several devices") as error:
        select_device(letter)
    assert all(repr(device) in str(error.value) for device in fitting)
    monkeypatch.setenv("PYOPENCL_CTX", letter)
    assert select_device() == fitting[0]


@pytest.mark.parametrize("spec", ["no such thing", "99", "0:99", "99:0", "no:such", "accelerator", "apple"])
def test_what_fits_nothing_lists_what_there_is_and_what_to_install(spec: str) -> None:
    if any(spec in (device.kind, device.vendor) for device in devices()):
        pytest.skip("there is one here")
    with pytest.raises(DeviceNotFound, match="fits no device") as error:
        select_device(spec)
    message = str(error.value)
    assert all(repr(device) in message for device in devices()) and 'pip install "clmapreduce[cpu]"' in message


def test_registers_are_exchanged_by_subgroups_where_a_row_says_so_and_the_device_can() -> None:
    wide = {"kind": "cpu", "sized_subgroups": True, "vector_floats": 16}
    traits = facts(vendor="intel", **wide).traits
    assert (traits.vocabulary, traits.exchange_width) == ("subgroups+intel", 16)
    for change in ({"sized_subgroups": False}, {"vector_floats": 8}, {"kind": "gpu"}, {"vendor": "pocl"}):
        device_facts = facts(**({"vendor": "intel"} | wide | change))
        assert device_facts.traits == traits_of(device_facts.vendor) and "subgroups" not in device_facts.traits.vocabulary
    assert with_subgroups(traits, 8) == dataclasses.replace(traits, exchange_width=8)


def test_wide_vectors_have_words_of_their_own_where_the_compiler_takes_them() -> None:
    wide = {"vendor": "pocl", "kind": "cpu", "vector_floats": 16, "platform_version": "OpenCL 3.0 PoCL 5.0+debian"}
    assert facts(**wide).traits.vocabulary == "wide+pocl"
    old = {"platform_version": "OpenCL 3.0 PoCL 3.1+debian"}
    for change in (old, {"vector_floats": 8}, {"kind": "gpu"}, {"vendor": "other"}):
        assert "wide" not in facts(**wide | change).traits.vocabulary
    traits = facts(**wide).traits
    assert with_wide_vectors(traits) == traits
