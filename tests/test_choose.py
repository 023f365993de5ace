"""Which mode a call runs in when the caller leaves it open."""

from __future__ import annotations

import pytest
from plans import FACTS, PARALLEL, SEQUENTIAL

from clmapreduce.choose import choose_mode
from clmapreduce.errors import ModeError


def test_cpus_walk_tiles_and_others_work_side_by_side() -> None:
    for facts in FACTS.values():
        assert choose_mode("auto", facts) is (SEQUENTIAL if facts.kind == "cpu" else PARALLEL)


def test_the_callers_word_is_final() -> None:
    for facts in FACTS.values():
        assert choose_mode("sequential", facts) is SEQUENTIAL
        assert choose_mode("parallel", facts) is PARALLEL
        with pytest.raises(ModeError):
            choose_mode("fast", facts)
