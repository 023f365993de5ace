"""The interpreter ends with work in flight, and nothing crashes or hangs."""

from __future__ import annotations

import pytest
from support.child_processes import Program, ended_well

ENDLESS = """
import hostsched
SOURCE = '''
__kernel void cmr_long(__global float *x, int rounds)
{
    float v = x[get_global_id(0)];
    for (int k = 0; k < rounds; k++) v = v * 0.999f + sin(v);
    x[get_global_id(0)] = v;
}
'''
kernel = hostsched.build(context.queue, SOURCE).kernel("cmr_long")
memory = np.ones(1 << 16, np.float32)
buffer = context.queue.arena.borrow(memory, writable=True)


def launch(rounds):
    size = min(64, kernel.max_group_size)  # 32 on llvmpipe
    job = hostsched.KernelJob(kernel, (1 << 16) // size, size, (buffer, np.int32(rounds)), (buffer,), (buffer,))
    return hostsched.JobGraph([job, hostsched.MapJob(buffer)]).submit(context.queue)
"""


def test_with_a_kernel_that_writes_host_memory(program: Program) -> None:
    ended_well(program(ENDLESS + "launch(2000); del memory, buffer, kernel; print('ends')"), "ends")


def test_with_a_kernel_that_was_interrupted(program: Program) -> None:
    lines = """
pending = launch(4000)
threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
try:
    pending.wait()
    while True:  # the kernel may end before the signal comes
        time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted")
"""
    ended_well(program(ENDLESS + lines), "interrupted")


@pytest.mark.parametrize("daemon", [True, False])
def test_while_a_thread_is_in_a_long_call(program: Program, daemon: bool) -> None:
    """A daemon thread's call ends with the interpreter; any other thread is waited for, so that it is cancelled."""
    lines = f"""
running = threading.Event()
def work():
    try:
        gaussian(x, y).sum(axis=1, context=context, progress=lambda done, total: running.set())
    except cm.ClMapReduceError:
        pass
threading.Thread(target=work, daemon={daemon}).start()
running.wait()
{"" if daemon else "context.cancel()"}
print("ends")
"""
    ended_well(program(lines), "ends")


def test_with_calls_in_flight(program: Program) -> None:
    lines = """
v = cm.array(np.ones(1 << 20, np.float32))
for _ in range(200):
    v = cm.Map("v * 1.5 - 0.5")(v)
print("ends")
"""
    ended_well(program(lines), "ends")


def test_a_call_after_the_end_says_so(program: Program) -> None:
    """A handler that was registered before the library runs after its own."""
    lines = """
import atexit
def late():
    try:
        cm.Reduce("sum")(few)
    except cm.ClMapReduceError as error:
        print("interpreter is about to end" in str(error))
import hostsched.queue.ending
atexit.unregister(hostsched.queue.ending._end)
atexit.register(late)
atexit.register(hostsched.queue.ending._end)
"""
    ended_well(program(lines), "True")
