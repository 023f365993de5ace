"""Every public name has its place on a page of the reference, and an example there."""

from __future__ import annotations

import inspect
import re

import pytest
from support.pages import DOCS, code

import clmapreduce as cm
import hostsched

TORCH = DOCS.parent / "clmapreduce" / "torch" / "__init__.py"
PAGES = sorted((DOCS / "reference").glob("*.md"))
DIRECTIVE = re.compile(r"^\.\. (?:auto\w+|data):: ([\w.]+)", re.M)


def public() -> dict[str, list[str]]:
    """Module → its public names. PyTorch's are read as text: the library may not be installed."""
    names = {
        "clmapreduce": [name for name in cm.__all__ if not inspect.ismodule(getattr(cm, name))],
        "clmapreduce.math": dir(cm.math),
        "clmapreduce.series": list(cm.series.__all__),
        "clmapreduce.cluster": list(cm.cluster.__all__),
        "clmapreduce.dask": ["to_device", "to_devices"],
        "clmapreduce.torch": re.findall(r'^ {4}"(\w+)",$', TORCH.read_text(encoding="utf-8"), flags=re.M),
        "hostsched": list(hostsched.__all__),
    }
    assert all(names.values())
    return names


def documented() -> dict[str, str]:
    """Full name → the code of the page on which it is documented."""
    places: dict[str, str] = {}
    for page in PAGES:
        for name in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            assert name not in places, f"{name} is documented twice"
            places[name] = code(page)
    return places


@pytest.mark.parametrize("module", public())
def test_every_public_name_is_documented_beside_an_example(module: str) -> None:
    places = documented()
    names = [(name, f"{module}.{name}") for name in public()[module]]
    assert not [full for _, full in names if full not in places]
    without = [full for name, full in names if not re.search(rf"\.{name}\b", places[full])]
    assert not without, f"no example on their page: {', '.join(without)}"


def test_nothing_else_is_documented() -> None:
    """A name that is gone from the packages is gone from the reference."""
    known = {f"{module}.{name}" for module, names in public().items() for name in names}
    assert set(documented()) - known == {"clmapreduce.dask.devices.to_devices"}


def test_every_public_name_has_a_docstring() -> None:
    for module, namespace in {"clmapreduce": cm, "clmapreduce.math": cm.math, "hostsched": hostsched}.items():
        for name in public()[module]:
            thing = getattr(namespace, name)
            if callable(thing):
                assert inspect.getdoc(thing), f"{module}.{name}"
