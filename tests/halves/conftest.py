"""Every device as one that does not compute with float16, and all text that is built for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from support.kernel_rules import without_comments
from support.lacking import without_float16

import clmapreduce as cm
from clmapreduce.device import runtime


@pytest.fixture
def poor(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> Iterator[cm.Context]:
    """A context that plans without float16. No kernel of it has a half, but pointers for vload_half and vstore_half."""
    texts: list[str] = []
    render = runtime.render

    def recorded(*arguments: Any) -> str:
        texts.append(render(*arguments))
        return texts[-1]

    monkeypatch.setattr(runtime, "render", recorded)
    own = without_float16(context)
    yield own
    own.wait()
    for text in texts:
        code = re.sub(r"#pragma[^\n]*", "", without_comments(text))
        numbers = re.findall(r"[^\n]*\bhalf\d*\b(?! *\*)[^\n]*", code)
        assert not numbers, numbers[:3]
