"""The rules that every kernel's text keeps: complete, no `return`, all items at every barrier, nothing idle."""

from __future__ import annotations

import re

from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, KernelSpec, LocalArray, Stage
from support.plans import SEQUENTIAL

HELPER = re.compile(r"\bcmr_\w+(?=\()")
QUALIFIERS = r"^(?:INLINE|static __attribute__\(\(noinline\)\))"
"""What helpers begin with."""
DEFINITION = re.compile(QUALIFIERS + r" \w+ (cmr_\w+)\(", re.M)


def assert_rules(name: str, stage: Stage, source: str, facts: Facts, mode: ComputeMode) -> None:
    """All of them, for the text of one stage. name: named in the message when one is broken."""
    text = without_comments(source)
    kernel = kernel_of(text)
    assert_complete(name, text)
    assert "\n\n" not in source.strip(), f"{name}: empty lines"
    assert text.count("__kernel ") == 1 and f"void {stage.spec.kernel}(" in kernel, name
    has_size = f"reqd_work_group_size({stage.group_size}, 1, 1)" in kernel
    assert has_size or any("maxrregcount" in option for option in stage.spec.options), name
    assert not re.search(r"\breturn\b", kernel), f"{name}: PoCL miscompiles a return before a barrier"
    assert (re.search(r"\basm\b", text) is not None) <= (facts.vocabulary == "nvidia"), name
    if mode is SEQUENTIAL:
        assert "barrier" not in text and "__local" not in text, name
        assert "get_local_id" not in text, name
    else:
        assert_all_items_meet(name, kernel)
        several = len(stage.spec.local_arrays) > 1  # a compiler may leave room between two
        assert stage.spec.local_bytes + 16 * several <= facts.local_memory, name
        assert_local_memory_is_arrays(name, kernel)
    assert_local_arrays(name, stage.spec, kernel)
    assert_helpers_are_what_is_called(name, text)
    assert_extensions_are_what_is_used(name, source, facts)
    assert_arguments_are_parameters(name, stage, kernel)


def kernel_of(source: str) -> str:
    """From the kernel's head on."""
    return source[source.index("__kernel ") :]


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def assert_complete(name: str, text: str) -> None:
    for opening, closing in ("()", "[]", "{}"):
        assert text.count(opening) == text.count(closing), name
    for opening in ("${", "<%", "%>", "UNDEFINED", "object at 0x"):
        assert opening not in text, name
    assert not re.search(r"^[ \t]*%|\b(None|True|False|lambda)\b", text, re.M), name


def enclosing(text: str, places: set[int]) -> dict[int, list[str]]:
    """For each place, the heads of the blocks around it and of its own statement, outermost first."""
    heads: dict[int, list[str]] = {}
    stack: list[str] = []
    remaining = sorted(places, reverse=True)
    head, depth = 0, 0
    for sign in re.finditer(r"[(){};]", text):
        while remaining and remaining[-1] <= sign.start():
            heads[remaining[-1]] = [*stack, text[head : remaining[-1]].strip()]
            remaining.pop()
        match sign[0]:
            case "(":
                depth += 1
            case ")":
                depth -= 1
            case "{":
                stack.append(text[head : sign.start()].strip())
            case "}":
                stack.pop()
        if sign[0] in "{}" or (sign[0] == ";" and depth == 0):
            head = sign.end()
    return heads


def assert_all_items_meet(name: str, kernel: str) -> None:
    """Barriers and shuffles stand in no branch, and in no loop but those over a group's tiles, lines, rows and stages, whose bounds all
    items share, and in the branch of the group that is done last. Shuffles may stand in a branch for the first warp, or for those that voted for it.
    """
    tiles = re.compile(
        r"for \(; t (\+ \d+ <=|<) end; t \+= \d+\)|(CMR_ONE_BY_ONE\s+)?for \(; row < last; row\+\+\)"
        r"|for \(idx i_tile = 0; i_tile < n; i_tile \+= \d+\)|for \(idx tile = first; tile < last; tile \+= \d+\)"
        r"|for \(idx step_tile = 0; step_tile < steps; step_tile \+= \d+\)"
        r"|for \(idx j0 = begin; j0 < end; j0 \+= \d+\)|for \(idx row = begin; row < end; row\+\+\)"
        r"|(#pragma unroll 1\s+)?for \(int (s|v|step|turn) = \d+; (s|v|step|turn) < \d+; (s|v|step|turn)\+\+\)"
        r"|for \(idx row = from; row < to; row \+= \d+\)"
        r"|if \(arrived\[0\] == (groups|splits)\)"
        r"|for \(int more = 1; more; t \+= \d+, more = t < end\)"
        r"|for \(; begin < end; begin \+= \d+\)"
        r"|(#pragma unroll 1\s+)?for \(int first = \d+; first < \d+; first \+= \d+\)"
    )
    if "cmr_ballot_int" in kernel:  # what a warp has voted on is the same for all of its items
        tiles = re.compile(
            tiles.pattern
            + r"|if \((settled|\(settled0 & settled1 & settled2 & settled3\)) != 0xffffffffu\)|if \(apart\)|else"
            r"|if \(next == first\)|for \(idx around = first; around < next; around \+= \d+\)"
            r"|if \(!with_end\)|if \(t \+ \d+ < n\)|if \(ended\)|if \((start|behind) < end\)"
            r"|if \(!is_far\)|(#pragma unroll 1\s+)?for \(int pass = 0; pass < 2; pass\+\+\)"
        )
    places = {match.start(): match[0] for match in re.finditer(r"\bbarrier(?=\()|\bcmr_shuffle_\w+(?=\()", kernel)}
    for at, heads in enclosing(kernel, set(places)).items():
        for head in heads[1:]:
            declares = re.fullmatch(r"(const )?\w+ \w+ =", head) is not None
            of_warps = head == "if (warp == 0)" or re.fullmatch(r"if \(cmr_ballot_int\(.*\)\)", head) is not None
            one_warp = of_warps and places[at] != "barrier"
            assert not head or declares or one_warp or tiles.fullmatch(head), f"{name}: {places[at]} behind {head!r}"


def assert_local_memory_is_arrays(name: str, kernel: str) -> None:
    """Local memory is arrays, and pointers into them."""
    pointers = re.findall(r"__local (?:const )?\w+ \*(?:const )?\w+ = (?:staged|all)_\w+[^;]*;", kernel)
    arrays = re.findall(r"__local \w+ \w+\[\d+\](?: __attribute__\(\(aligned\(16\)\)\))?;", kernel)
    places = re.findall(r"\(__local (?:const )?\w+ \*\)", kernel)  # of other types in an array
    assert len(re.findall(r"__local", kernel)) == len(pointers) + len(arrays) + len(places), name


def assert_local_arrays(name: str, spec: KernelSpec, text: str) -> None:
    """A kernel declares the arrays of its spec, and no others, in any order."""
    declared_arrays = [
        LocalArray(array, kind, int(count), bool(alignment))
        for kind, array, count, alignment in re.findall(
            r"__local\s+(\w+)\s+(\w+)\[(\d+)\]( __attribute__\(\(aligned\(16\)\)\))?;", text
        )
    ]
    assert len(re.findall(r"__local\s+\w+\s+\w+\[", text)) == len(declared_arrays), name
    assert sorted(declared_arrays, key=str) == sorted(spec.local_arrays, key=str), name


def assert_helpers_are_what_is_called(name: str, text: str) -> None:
    """Each helper once, before its first call, and none without a call."""
    definitions = {match[1]: match.start() for match in DEFINITION.finditer(text)}
    assert len(definitions) == len(DEFINITION.findall(text)), f"{name}: a helper is defined twice"
    first_calls: dict[str, int] = {}
    for match in HELPER.finditer(text):
        function = match[0]
        if re.search(QUALIFIERS + r" \w+ $", text[: match.start()].rpartition("\n")[2]):
            continue  # its own definition
        first_calls.setdefault(function, match.start())
    kernel = re.search(r"^void (cmr_\w+)\(", text, re.M)
    assert kernel
    first_calls.pop(kernel[1])
    assert set(first_calls) == set(definitions), (
        f"{name}: called {set(first_calls) - set(definitions)}, idle {set(definitions) - set(first_calls)}"
    )
    assert all(definitions[function] < first_calls[function] for function in first_calls), (
        f"{name}: a helper is called before it is there"
    )


def assert_extensions_are_what_is_used(name: str, source: str, facts: Facts) -> None:
    body = source[source.index("typedef") :]
    for word, extension in (("double", "cl_khr_fp64"), ("half", "cl_khr_fp16")):
        is_used = re.search(rf"\b{word}\d*\b", without_comments(body)) is not None
        assert (f"#pragma OPENCL EXTENSION {extension} : enable" in source) == is_used, f"{name}: {extension}"
    if not facts.fp64:
        assert "double" not in source, name
    for vector in set(re.findall(r"CMR_(?:LOAD|STORE|STREAM)\((\w+),", kernel_of(source))):
        assert re.search(rf"^typedef {vector} {vector}_at\b", source, re.M), f"{name}: {vector}_at"


def assert_arguments_are_parameters(name: str, stage: Stage, kernel: str) -> None:
    """As many arguments as parameters, each of another name; a strided input brings two numbers per dimension, a
    gathered one its last place.
    """
    head = kernel[: kernel.index("{")]
    parameters = [p for p in head[head.index("void") :].split("(", 1)[1].rsplit(")", 1)[0].split(",") if p.strip()]
    offsets = sum(re.search(r"\bin\d+_(stride\d|size\d|last)", p) is not None for p in parameters)
    assert len(parameters) == len(stage.arguments) + offsets, f"{name}: {parameters} for {stage.arguments}"
    names = [p.split()[-1].strip("*") for p in parameters]
    assert len({*names}) == len(names), f"{name}: {names}"
