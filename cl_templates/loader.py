"""Renders kernel templates, strictly: an undefined name is an error that says where.

`render(name, context)` gives complete OpenCL C: the prelude, the helper functions that the kernel's text calls, then
the kernel. Helpers are the vendor vocabulary: a call of `cmr_exp_scaled_float16` asks for the def `exp_scaled` of the
context's vendor with type "float16". `vendor/portable` holds the full contract in OpenCL C 1.2; `vendor/clang`
overrides what drivers built on clang say better, and a vendor's own file comes before both, `vendor/subgroups` before
that where items exchange registers by OpenCL's sub-groups.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from mako.exceptions import RichTraceback

from cl_templates.compiled import CompiledLookup
from cl_templates.errors import RenderError

FOLDER = Path(__file__).parent
_WORD = re.compile(r"\w+")
_CALL = re.compile(r"cmr_([a-z]\w*?)_((?:u?(?:char|short|int|long)|half|float|double)\d*)")
_VECTOR = re.compile(r"(u?(?:char|short|int|long)|half|float|double)(2|4|8|16)")
_SCALAR = re.compile(r"(half|double)\d*")
_EXACT = re.compile(r"cmr_(?:sum|product)_error_\w+")
"""Calls in kernels that are compiled without contraction."""
_DIVISION = re.compile(r"cmr_floor_divide_by_library_float")
"""Calls in kernels whose quotients are rounded correctly."""
_NO_CONTRACTION = "#pragma OPENCL FP_CONTRACT OFF"
_lock = threading.RLock()
_lookup = CompiledLookup(FOLDER)


def template_names() -> list[str]:
    """Every kernel template, as schemes name it: "kernel/line/map", …"""
    files = (FOLDER / "kernel").rglob("*.cl.mako")
    return sorted(path.relative_to(FOLDER).as_posix().removesuffix(".cl.mako") for path in files)


def vocabularies(vendor: str) -> tuple[str, ...]:
    """The vocabularies that helpers come from; the first that has one wins. vendor: one of them, or several: "a+b"."""
    names = tuple(vendor.split("+"))
    return names if names[-1] == "portable" else (*names, "clang", "portable")


@lru_cache(maxsize=64)
def files_of(vocabulary: str) -> tuple[str, ...]:
    """The templates of a vocabulary: its file, and those in the folder of its name."""
    folder = FOLDER / "vendor" / vocabulary
    inner = sorted(path.name for path in folder.glob("*.cl.mako"))
    return (f"vendor/{vocabulary}.cl.mako", *(f"vendor/{vocabulary}/{name}" for name in inner))


def render(name: str, context: Mapping[str, Any]) -> str:
    """The complete source of a kernel. Raises RenderError naming template, line and the missing or wrong value."""
    with _lock:
        if "vendor" not in context:
            raise RenderError(f"cannot render {name}.cl.mako: 'vendor' is not defined")
        vendor = str(context["vendor"])
        body = _render(f"{name}.cl.mako", {**context, "attribute": partial(_attribute, vendor)})
        helpers = _helpers(body, vendor)
        words = list(_words(body + helpers))
        vectors = sorted((kind, int(lanes)) for kind, lanes in _matches(_VECTOR, words))
        types: dict[str, Any] = {"scalars": {kind for (kind,) in _matches(_SCALAR, words)}, "vectors": vectors}
        within = "cmr_within" in words
        types["pragma"] = _NO_CONTRACTION if any(map(_EXACT.fullmatch, words)) else ""
        macros = f"vendor/{'clang' if 'clang' in vocabularies(vendor) else 'portable'}.cl.mako"
        prelude = _render("prelude.cl.mako", {**context, **types, "macros": macros, "within": within})
        return _tidy(prelude + helpers + body)


def may_contract(source: str) -> bool:
    """Whether a kernel's compiler may fuse products with sums."""
    return _NO_CONTRACTION not in source


def divides_correctly(source: str) -> bool:
    """Whether a kernel needs quotients and square roots that are rounded correctly."""
    return not may_contract(source) or _DIVISION.search(source) is not None


def _render(uri: str, context: Mapping[str, Any]) -> str:
    try:
        return str(_lookup.get_template(uri).render_unicode(**context))
    except Exception as error:
        raise RenderError(_message(uri, error)) from error


def _message(uri: str, error: Exception) -> str:
    place = ""
    for _file, line, function, text in reversed(RichTraceback(error=error).traceback):
        if "${" in str(text) or "%" in str(text)[:1]:
            place = f", line {line} ({function}): {str(text).strip()}"
            break
    missing = re.search(r"^'(\w+)' is not defined", str(error))
    if missing and not place:  # Mako fetches all names before the first line
        place = _first_use(uri, missing[1])
    return f"cannot render {uri}{place}: {type(error).__name__}: {error}"


def _first_use(uri: str, name: str) -> str:
    path = FOLDER / uri.partition(",")[0]
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    uses = (i for i, line in enumerate(lines, 1) if re.search(rf"\b{name}\b", line) and not line.startswith("##"))
    at = next(uses, None)
    return "" if at is None else f", line {at}: {lines[at - 1].strip()}"


def _helpers(body: str, vendor: str) -> str:
    """Definitions of the helpers that `body` calls, and of those that they call, callees first."""
    done: dict[tuple[str, str], str] = {}

    def need(text: str) -> None:
        for function, kind in _matches(_CALL, _words(text)):
            key = (function, kind)
            definition = _definition(function, kind, vendor)
            if definition is None or key in done:
                continue
            done[key] = ""
            need(definition.replace(f"cmr_{function}_{kind}(", "("))
            del done[key]  # reinserted behind what it calls
            done[key] = definition

    need(body)
    return "\n".join(done.values())


def _definition(function: str, kind: str, vendor: str) -> str | None:
    return _text_of(vendor, function, "T", kind)


def _attribute(vendor: str, width: int) -> str:
    """What the head of a kernel says whose items exchange registers, `width` of them."""
    return _text_of(vendor, "kernel_attribute", "width", width) or ""


@lru_cache(maxsize=1024)
def _text_of(vendor: str, word: str, argument: str, value: str | int) -> str | None:
    for file in chain.from_iterable(map(files_of, vocabularies(vendor))):
        try:
            template = _lookup.get_template(file)
            if template.has_def(word):
                return str(template.get_def(word).render_unicode(**{argument: value}))
        except Exception as error:
            raise RenderError(_message(f"{file}, {word}({value})", error)) from error
    return None


def _words(text: str) -> Iterable[str]:
    """Every word of a text once: far fewer than patterns would have to be tried at."""
    return dict.fromkeys(_WORD.findall(text))


def _matches(pattern: re.Pattern[str], words: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The groups of the words that match as a whole."""
    matches = (pattern.fullmatch(word) for word in words)
    return (match.groups() for match in matches if match is not None)


def _tidy(text: str) -> str:
    return re.sub(r"\n\s*\n+", "\n", text) + "\n"
