"""Forks before and after the first use, pools of processes, processes that start at once with an empty cache."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable

import pytest
from support.child_processes import DEVICES, ROOT, Program, ended_well, with_library

from hostsched.compiler import disk_cache

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
Script = Callable[..., "subprocess.CompletedProcess[str]"]

FORKS = """
def in_child(work, leave=os._exit):
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        try:
            print(work(), flush=True)
            leave(0)
        except Exception as error:
            print(type(error).__name__, error, flush=True)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def errors_of(*calls):
    words = []
    for call in calls:
        try:
            call()
        except cm.DeviceError as error:
            words.append("spawn" in str(error))
    return words
"""


@pytest.fixture
def script(tmp_path: pathlib.Path) -> Script:
    """Runs a file of its own, which processes started by `spawn` and `forkserver` import again."""

    def run(lines: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(lines))
        return subprocess.run(
            [sys.executable, str(path), *arguments], cwd=ROOT, env=with_library(**environment),
            capture_output=True, text=True, timeout=250, check=False,
        )  # fmt: skip

    return run


@needs_fork
def test_a_fork_before_the_first_use(script: Script) -> None:
    """Parent and child compute side by side, on every device."""
    lines = """
        import os, sys
        import numpy as np
        import clmapreduce as cm

        process = os.fork()
        for device in cm.devices():
            with cm.Context(device):
                assert cm.Reduce("sum")(np.arange(1000)) == 499500
                assert (cm.Scan("sum")(cm.array(np.ones(1000, int))).to_numpy() == np.arange(1, 1001)).all()
        if process:
            print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
    """
    ended_well(script(lines), "0")


@needs_fork
def test_a_fork_beside_a_kernels_first_launch(program: Program) -> None:
    """PoCL loads the kernel's library meanwhile, in a thread that the child does not have. The child loads others."""
    lines = """
import os
failures = 0
for k in range(20):
    late = cm.Map(f"x * {k}.25 + {os.getpid()}")(cm.array(few))
    child = os.fork()
    if not child:
        import _decimal, _sqlite3, _ssl
        os._exit(0)
    failures += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
print(failures, (late.to_numpy() == few * 19.25 + os.getpid()).all())
"""
    ended_well(program(lines), "0 True")


@needs_fork
def test_a_fork_after_use_refuses_every_call_and_the_parent_goes_on(program: Program) -> None:
    """The child ends as Python programs do, with destructors and exit handlers; only the driver's handlers do not run."""
    lines = FORKS + """
array = cm.array(few)
total = cm.Reduce("sum")
ready = (cm.Map("x * y") >> total).compile([few.shape, few.shape], np.float32)
plan = cm.SegmentPlan([0, 10, 1000], 1000)
late = total(array)
calls = [
    lambda: total(few), lambda: total(array), lambda: array.to_numpy(), lambda: late.to_numpy(), lambda: cm.array(few),
    lambda: ready(array, array), lambda: plan.reduce(array), lambda: gaussian(x[:9], y[:9]).sum(axis=1),
    lambda: cm.Context(context.device), lambda: cm.devices(), context.wait, lambda: cm.series.exp(1.0, 18),
]
print(in_child(lambda: errors_of(*calls), sys.exit))
print(late.to_numpy(), total(few), int(ready(array, array)))
"""
    ended_well(program(lines), str([True] * 12), "0", "499500.0 499500.0 332833504")


@needs_fork
def test_a_forked_child_ends_with_its_status_and_loses_no_output(program: Program) -> None:
    """Intel's exit handlers wait for threads that a child does not have: it hung once in about 60 runs."""
    lines = FORKS + """
import atexit, ctypes

total = cm.Reduce("sum")(few)
sys.stdout.reconfigure(line_buffering=False)
libc, parent = ctypes.CDLL(None), os.getpid()
libc.fdopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fdopen(1, b"w"))
atexit.register(lambda: os.getpid() == parent or (print("Python's line"), libc.fputs(b"C's line\\n", file)))
print(in_child(lambda: "in the child", lambda code: sys.exit(7)))
"""
    ended_well(program(lines), "in the child", "Python's line", "C's line", "7")


@needs_fork
def test_a_fork_in_a_thread_while_others_compute(program: Program) -> None:
    """Locks that the other threads hold at that moment hold the child up no longer than the parent."""
    lines = FORKS + """
total, stop = cm.Reduce("sum"), threading.Event()
def work():
    while not stop.is_set():
        assert total(few) == 499500
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
codes = []
def fork():
    for _ in range(5):
        codes.append(in_child(lambda: errors_of(lambda: total(few), lambda: cm.array(few))))
forker = threading.Thread(target=fork)
forker.start()
forker.join()
stop.set()
for thread in threads:
    thread.join()
print(codes, total(few))
"""
    ended_well(program(lines), *[str([True, True])] * 5, "[0, 0, 0, 0, 0] 499500.0")


@needs_fork
def test_a_fork_with_work_pending(program: Program) -> None:
    lines = FORKS + """
try:
    gaussian(cm.array(x), cm.array(y)).sum(axis=1, progress=interrupt)
except KeyboardInterrupt:
    print(in_child(lambda: errors_of(lambda: cm.array(few)), sys.exit))
print(cm.Reduce("sum")(few))
"""
    ended_well(program(lines), "[True]", "0", "499500.0")


POOL = """
    import multiprocessing, sys
    import numpy as np
    import clmapreduce as cm

    def work(k):
        device = cm.devices()[k % len(cm.devices())]
        return int(cm.Reduce("sum")(np.arange(1000) + k, context=cm.Context(device)))

    if __name__ == "__main__":
        method, is_used = sys.argv[1], sys.argv[2] == "used"
        if is_used:
            assert work(0) == 499500
        pool = multiprocessing.get_context(method).Pool(2)
        try:
            print(pool.map(work, range(3)))
        except cm.DeviceError as error:
            print("spawn" in str(error))
        pool.close()
        pool.join()
        assert work(1) == 500500
"""


@pytest.mark.parametrize(
    ("method", "state"), [("fork", "unused"), ("fork", "used"), ("spawn", "used"), ("forkserver", "used")]
)
def test_pools(method: str, state: str, script: Script) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    is_refused = method == "fork" and state == "used"
    ended_well(script(POOL, method, state), "True" if is_refused else "[499500, 500500, 501500]")


COLD = """
    import sys
    sys.path.insert(0, "tests")
    from support.exact_calls import families
    from support.oracles import assert_same
    import clmapreduce as cm

    context = cm.Context(cm.devices()[int(sys.argv[1])])
    print("ready", flush=True)
    sys.stdin.readline()
    some = families(0)
    for name in ("map", "reduce"):
        assert_same(some[name].call(context), some[name].expected, name)
"""


@pytest.mark.parametrize("index", range(len(DEVICES)), ids=[device.vendor for device in DEVICES])
def test_processes_that_start_cold_share_a_cache(index: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three build the same kernels at once; afterwards each entry is whole, and nothing else lies in the folder."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("CLMR_CACHE_DIR", str(cache))
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "pocl"))
    (tmp_path / "pocl").mkdir()
    command = [sys.executable, "-c", textwrap.dedent(COLD), str(index)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    processes = [subprocess.Popen(command, cwd=ROOT, text=True, **pipes) for _ in range(3)]  # type: ignore[call-overload]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n", process.communicate()
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            _, errors = process.communicate(timeout=200)
            assert process.returncode == 0 and not errors, errors
    finally:
        for process in processes:
            process.kill()
    entries = list(cache.iterdir()) if cache.exists() else []
    assert bool(entries) == (DEVICES[index].vendor != "pocl")
    for entry in entries:
        assert entry.suffix == ".bin" and disk_cache.load(entry.stem), entry


STORING = """
    import os
    from hostsched.compiler import disk_cache

    print("ready", flush=True)
    while True:
        for k in range(256):
            disk_cache.store("a" * 64, bytes([k]) * (8 << 20))
"""


def test_a_process_killed_while_it_stores(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry is one that was stored, whole, or none; another process stores it again."""
    monkeypatch.setenv("CLMR_CACHE_DIR", str(tmp_path))
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(STORING)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        while not any(path.stat().st_size for path in tmp_path.glob("*.tmp") if path.exists()):
            time.sleep(0)
        process.kill()
        process.communicate()
        binary = disk_cache.load("a" * 64)
        assert binary is None or (len(binary) == 8 << 20 and len(set(binary)) == 1)
    leftovers = list(tmp_path.glob("*.tmp"))
    for path in leftovers[1:]:
        os.utime(path, (0, 0))
    monkeypatch.setattr(disk_cache, "_swept", set())
    disk_cache.store("a" * 64, b"new")
    assert disk_cache.load("a" * 64) == b"new"
    assert list(tmp_path.glob("*.tmp")) == leftovers[:1], "another process may be writing it"
