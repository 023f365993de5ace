"""Programs of float16 on devices that do not compute with it: steps of float32 numbers, outputs as bits."""

from __future__ import annotations

from dataclasses import replace

from clmapreduce.halves.formulas import Halves, computed, has_halves
from clmapreduce.halves.operators import in_float32 as around_halves
from clmapreduce.program.program import Program
from clmapreduce.program.step import Step


def in_float32(program: Program) -> Program:
    """A program that reads bits of float16 and computes in float32; what it stores are bits (`clmapreduce/halves`)."""
    if not has_halves([*program.dtypes, *(operand.dtype for operand in program.inputs)]):
        return program
    halves = Halves()
    inputs = halves.inputs(program.inputs)
    steps: dict[int, Step] = {}
    for step in program.steps:  # each after what it needs
        steps[id(step)] = own = Step(
            step.kind, around_halves(step.bound), halves.value(step.value), step.label, computed(step.dtype),
            step.exclusive, None if step.narrow is None else around_halves(step.narrow),
        )  # fmt: skip
        for part, result in step.results.items():
            halves.put(result, own.results[part])
    outputs = tuple(map(halves.output, program.outputs))
    partials = None if program.partials is None else steps[id(program.partials)]
    return replace(program, inputs=inputs, outputs=outputs, partials=partials)
