"""The words that templates define: their arguments, and the text that they give."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from mako.lookup import TemplateLookup

import cl_templates
from cl_templates.loader import files_of, vocabularies

TEMPLATES = Path(cl_templates.__file__).parent
LOOKUP = TemplateLookup(directories=[str(TEMPLATES)], strict_undefined=True, input_encoding="utf-8")


def signatures(name: str) -> dict[str, str]:
    """The public defs of a template with their arguments."""
    text = (TEMPLATES / f"{name}.cl.mako").read_text(encoding="utf-8")
    return dict(re.findall(r'^<%def name="([a-z]\w*)(\(.*?\))">', text, re.M))


def vendor_files(vocabulary: str) -> list[str]:
    """The templates of one vocabulary, by name."""
    return [file.removesuffix(".cl.mako") for file in files_of(vocabulary)]


def vocabulary(name: str) -> dict[str, str]:
    """The words of one vocabulary with their arguments; each stands in one of its files."""
    files = [signatures(file) for file in vendor_files(name)]
    words = {word: arguments for file in files for word, arguments in file.items()}
    assert len(words) == sum(map(len, files)), f"a word of {name} stands in two files"
    return words


def rendering_of(template: str, word: str, *args: Any, **context: Any) -> str:
    """What a def renders to."""
    definition = LOOKUP.get_template(f"{template}.cl.mako").get_def(word)
    names = list(inspect.signature(definition.callable_).parameters)[1:]
    return str(definition.render_unicode(**dict(zip(names, args, strict=False)), **context))


def helper(vendor: str, function: str, kind: str) -> str:
    file = next(file for name in vocabularies(vendor) for file in vendor_files(name) if function in signatures(file))
    return rendering_of(file, function, kind)
