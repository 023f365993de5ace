"""The vocabulary of modes and calling conventions."""

from __future__ import annotations

import pytest

from clmapreduce.errors import ClMapReduceError, ModeError
from clmapreduce.modes import (
    ASKS,
    ELEMENTWISE,
    GIVES,
    LEGAL,
    WHOLE,
    CallingConvention,
    ComputeMode,
    Scope,
    names_of,
    parse_mode,
)


def test_a_mode_word_names_a_mode_or_leaves_it_open() -> None:
    assert parse_mode("sequential") is ComputeMode.SEQUENTIAL
    assert parse_mode("parallel") is ComputeMode.PARALLEL
    assert parse_mode("auto") is None


@pytest.mark.parametrize("word", ["", "seq", "par", "Sequential", "PARALLEL", "auto ", "gpu", "None"])
def test_any_other_word_is_refused_with_the_words_that_work(word: str) -> None:
    with pytest.raises(ModeError, match="auto, sequential, parallel") as error:
        parse_mode(word)
    assert repr(word) in str(error.value)
    assert isinstance(error.value, (ClMapReduceError, ValueError))


def test_template_words_are_those_of_the_files() -> None:
    assert {mode.value for mode in ComputeMode} == {"seq", "par"}
    assert {scope.value for scope in Scope} == {"item", "group", "device"}
    assert {convention.value for convention in CallingConvention} == {"vec", "s", "seq", "sync"}


def test_legal_conventions_are_those_of_the_architecture() -> None:
    vec, scalar = CallingConvention.VEC, CallingConvention.SCALAR
    in_order, sync = CallingConvention.ORDERED, CallingConvention.SYNC
    assert set(LEGAL) == {"map", "reduce", "unfold", "scan", "partials"}
    assert LEGAL["map"] == {vec, scalar}
    assert LEGAL["reduce"] == {vec}
    assert LEGAL["unfold"] == {vec, scalar, in_order, sync}
    assert LEGAL["scan"] == {vec, in_order, sync}
    assert LEGAL["partials"] == {vec}


def test_what_one_gives_and_another_asks_decides_the_order() -> None:
    assert frozenset(CallingConvention) == ELEMENTWISE | WHOLE
    follows = {(a, b) for a in GIVES for b in ASKS if GIVES[a] & ASKS[b]}
    assert {b for a, b in follows if a == "reduce"} == {"map", "unfold"}
    assert {b for a, b in follows if a in ("scan", "unfold")} == {"map", "reduce", "scan", "partials"}
    assert not any(a == "partials" for a, _ in follows)
    assert all(GIVES[name] <= LEGAL[name] for name in GIVES), "inside a pipeline nothing new is offered"
    assert names_of(GIVES["scan"]) == "ORDERED or SYNC" and names_of(GIVES["partials"]) == "none"
