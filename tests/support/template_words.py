"""The words that templates define: their arguments, and the text that they give."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from mako.lookup import TemplateLookup

import cl_templates
from cl_templates.loader import vocabularies

TEMPLATES = Path(cl_templates.__file__).parent
LOOKUP = TemplateLookup(directories=[str(TEMPLATES)], strict_undefined=True, input_encoding="utf-8")


def signatures(name: str) -> dict[str, str]:
    """The public defs of a template with their arguments."""
    text = (TEMPLATES / f"{name}.cl.mako").read_text(encoding="utf-8")
    return dict(re.findall(r'^<%def name="([a-z]\w*)(\(.*?\))">', text, re.M))


def rendering_of(template: str, word: str, *args: Any, **context: Any) -> str:
    """What a def renders to."""
    definition = LOOKUP.get_template(f"{template}.cl.mako").get_def(word)
    names = list(inspect.signature(definition.callable_).parameters)[1:]
    return str(definition.render_unicode(**dict(zip(names, args, strict=False)), **context))


def helper(vendor: str, function: str, kind: str) -> str:
    file = next(file for file in vocabularies(vendor) if function in signatures(f"vendor/{file}"))
    return rendering_of(f"vendor/{file}", function, kind)
