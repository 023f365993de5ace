"""Every public name has its place on a page of the reference, and an example there."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
from support.pages import DOCS, code

import clmapreduce as cm
import hostsched

PACKAGE = Path(cm.__file__).parent
FRAMEWORKS = [name for name in ("dask", "torch", "jax", "sklearn") if (PACKAGE / name).is_dir()]
PAGES = sorted((DOCS / "reference").rglob("*.md"))
DIRECTIVE = re.compile(r"^\.\. (?:auto\w+|data):: ([\w.]+)", re.M)


def exported(package: Path) -> list[str]:
    """`__all__` of a package, read as text: its framework may not be installed."""
    for node in ast.parse((package / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError(f"{package.name} has no __all__")


def public() -> dict[str, list[str]]:
    """Module → its public names."""
    names = {
        "clmapreduce": [name for name in cm.__all__ if not inspect.ismodule(getattr(cm, name))],
        "clmapreduce.math": dir(cm.math),
        "clmapreduce.series": list(cm.series.__all__),
        "clmapreduce.cluster": list(cm.cluster.__all__),
        **{f"clmapreduce.{name}": exported(PACKAGE / name) for name in FRAMEWORKS},
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
