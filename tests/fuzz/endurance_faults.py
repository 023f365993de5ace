"""Each driver call of each warm call fails in each way: what tests/reliability/test_driver_faults.py takes turns at.

`python tests/fuzz/endurance_faults.py --device intel --seconds 600`; the first failure ends it and is shown.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]  # the oracles, the library

from support.driver_faults import CODES, ENQUEUES, Driver, fails_cleanly, no_leak, places  # noqa: E402
from support.exact_calls import families  # noqa: E402

import clmapreduce as cm  # noqa: E402


def run(device: str | None, seconds: float) -> int:
    """How many faults were injected, in so many seconds at most."""
    until, count, context = time.monotonic() + seconds, 0, cm.Context(device)
    for name, family in families(0).items():
        for place in places(context, family, every=True):
            for fault in CODES:
                for late in (False, True):
                    if late and place[0] not in ENQUEUES:
                        continue
                    if time.monotonic() > until:
                        return count
                    driver = Driver(place, fault, late)
                    try:
                        with no_leak(context.queue):
                            fails_cleanly(context, family, driver)
                    except Exception as error:
                        raise AssertionError(f"{name}: call {place} with {fault}, late: {late}") from error
                    count += driver.fired
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    print(f"{run(options.device, options.seconds)} faults of the driver: each an error of ours or none, nothing lost")
