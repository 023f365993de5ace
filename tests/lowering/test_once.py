"""What follows from a pair is computed once, and lives as long as the pair."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

from support.pair_plans import form_of
from support.plans import FACTS

from clmapreduce.domain.dense import Pairwise
from clmapreduce.lowering.once import once_per_pair
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.planning.passes import Setting


def pair_of(text: str) -> Pair:
    return passes_of(form_of(text, "Sum", None)).main.pair


def test_a_result_is_computed_once_for_a_pair_and_arguments() -> None:
    calls: list[tuple[Pair, int]] = []

    @once_per_pair
    def twice(pair: Pair, factor: int = 1) -> list[int]:
        calls.append((pair, factor))
        return [factor]

    one, other = pair_of("SqDist(Vi(0,3),Vj(1,3))"), pair_of("SqDist(Vi(0,4),Vj(1,4))")
    assert twice(one, 2) is twice(one, 2) is not twice(one, 3)
    assert twice(one, factor=2) == [2] and twice(other, 2) is not twice(one, 2)
    assert calls.count((one, 2)) == 2  # as a positional argument, and by its name
    assert len(calls) == 4


def test_threads_get_the_same_result() -> None:
    @once_per_pair
    def fresh(pair: Pair) -> object:
        return object()

    pair = pair_of("SqDist(Vi(0,3),Vj(1,3))")
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: fresh(pair), range(64)))
    assert len(set(map(id, results))) == 1


def test_results_go_with_their_pair() -> None:
    @once_per_pair
    def itself(pair: Pair) -> Pair:
        return pair

    pair = pair_of("Exp(-SqDist(Vi(0,5),Vj(1,5)))*Vj(2,7)").scalar
    itself(pair)
    alive = weakref.ref(pair)
    del pair
    passes_of.cache_clear()
    gc.collect()
    assert alive() is None


def test_plans_of_another_length_share_what_follows_from_the_formula() -> None:
    """Kernels of two lengths compare equal without a walk over two formulas."""
    passes = passes_of(form_of("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,32)", "Sum", None))
    outputs = tuple(output.dtype for output in passes.outputs)
    one, other = (
        passes.plan(Setting(Pairwise(n, n, 1, n), ComputeMode.PARALLEL, FACTS["nvidia"]), outputs) for n in (9000, 9001)
    )
    assert [stage.spec for stage in one.stages] == [stage.spec for stage in other.stages]
    wide = [stage.spec.context()["wide"] for stage in (one.stages[1], other.stages[1])]
    assert wide[0].matrix.factoring is wide[1].matrix.factoring
    assert wide[0].matrix.pairs.pair is wide[1].matrix.pairs.pair
