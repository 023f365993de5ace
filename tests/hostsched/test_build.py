"""Programs are built once, refuse what would spoil sums, and complain with the lines at fault."""

from __future__ import annotations

import pathlib
import threading

import numpy as np
import pytest

from hostsched import FillJob, JobGraph, KernelJob, OutOfDeviceMemory, ProgramBuildError, Queue, ReadJob, build


def source(value: int) -> str:
    """A program whose kernel writes `value`."""
    return f"__kernel void cmr_value(__global int* a) {{ a[get_global_id(0)] = {value}; }}\n"


def value_of(queue: Queue, text: str, name: str = "cmr_value") -> int:
    """What the kernel built from `text` writes."""
    out, a = np.zeros(1, np.int32), queue.arena.take(4)
    kernel = build(queue, text).kernel(name)
    JobGraph([FillJob(a, b"\0", 4), KernelJob(kernel, 1, 1, (a,), (), (a,)), ReadJob(a, out)]).submit(queue).wait()
    return int(out[0])


def test_built_once_per_context_source_and_options(queue: Queue, fresh_queue: Queue) -> None:
    program = build(queue, source(1))
    assert build(queue, source(1)) is program
    assert build(queue, source(1), ["-cl-mad-enable"]) is program
    assert build(queue, source(1), ()) is not program
    assert build(queue, source(2)) is not program
    assert build(fresh_queue, source(1)) is not program
    assert build(Queue(queue.device), source(1)) is program
    assert program.kernel("cmr_value") is program.kernel("cmr_value")


def test_options_reach_the_compiler(queue: Queue) -> None:
    text = "__kernel void cmr_value(__global int* a) { a[0] = VALUE; }"
    out, a = np.zeros(1, np.int32), queue.arena.take(4)
    kernel = build(queue, text, ("-cl-mad-enable", "-DVALUE=17")).kernel("cmr_value")
    JobGraph([KernelJob(kernel, 1, 1, (a,), (), (a,)), ReadJob(a, out)]).submit(queue).wait()
    assert out[0] == 17


@pytest.mark.parametrize("option", ["-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations"])
def test_options_that_delete_compensation_are_refused(queue: Queue, option: str) -> None:
    for options in ((option,), (f"-DA=1 {option}",)):
        with pytest.raises(ValueError, match="compensated sums"):
            build(queue, source(1), options)


def test_a_build_error_names_device_log_and_line(queue: Queue) -> None:
    with pytest.raises(ProgramBuildError) as exception:
        build(queue, "__kernel void cmr_k(__global int* a)\n{\n    a[0] = missing;\n}\n")
    error = exception.value
    assert queue.facts.name in error.device_name and "missing" in error.log
    assert "    3 |     a[0] = missing;" in str(error)
    assert value_of(queue, source(4)) == 4


def test_an_unknown_kernel_is_named_with_those_there_are(queue: Queue) -> None:
    program = build(queue, source(1))
    with pytest.raises(KeyError, match="cmr_value"):
        program.kernel("cmr_other")
    assert "cmr_value" in repr(program)


def test_too_much_local_memory_is_refused_before_a_launch(queue: Queue) -> None:
    """PoCL 3.1 kills the process when such a kernel is launched, PyPI's 3.0 runs on."""
    words = queue.facts.local_memory // 4 + 64
    text = f"""__kernel void cmr_k(__global int* a)
{{
    __local int big[{words}];
    big[get_local_id(0)] = a[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[0] = big[get_local_size(0) - 1 - get_local_id(0)];
}}
"""
    try:
        kernel = build(queue, text).kernel("cmr_k")
    except (OutOfDeviceMemory, ProgramBuildError) as error:
        assert "local" in str(error) or "shared" in str(error)
    else:
        assert kernel.local_memory == 0, "PoCL 5.0 does not know before a launch; others do"


def test_facts_of_a_kernel(queue: Queue) -> None:
    kernel = build(queue, source(1)).kernel("cmr_value")
    assert kernel.num_args == 1 and kernel.name == "cmr_value"
    assert 1 <= kernel.max_group_size <= queue.facts.max_group_size
    assert kernel.local_memory <= queue.facts.local_memory


def test_sources_are_dumped_on_request(
    fresh_queue: Queue, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLMR_DUMP_SOURCE", str(tmp_path / "sources"))
    build(fresh_queue, source(1), dump_name="a/../b c")
    build(fresh_queue, source(2))
    names = sorted(path.name for path in (tmp_path / "sources").iterdir())
    assert [name.rpartition("-")[0] for name in names] == ["a_.._b_c", "program"]
    assert {path.read_text() for path in (tmp_path / "sources").iterdir()} == {source(1), source(2)}


def test_threads_may_build_the_same_and_different_programs(fresh_queue: Queue) -> None:
    programs: list[int] = []

    def work(number: int) -> None:
        for value in (number, 100):
            programs.append(value_of(fresh_queue, source(value)) - value)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert programs == [0] * 8


def test_pyopencl_still_has_the_quick_argument_setters(queue: Queue) -> None:
    """Kernel uses two methods that pyopencl does not document; its own generated launchers do the same."""
    import pyopencl as cl

    assert callable(cl.Kernel._set_arg_multi) and callable(cl.Kernel._set_arg_buf_multi)  # type: ignore[attr-defined]
