"""The package's papers agree with each other, and with what is in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import clmapreduce as cm

ROOT = Path(__file__).resolve().parents[1]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def minimums() -> dict[str, str]:
    """Package → the oldest version that pyproject.toml allows, of what every installation needs, and of pictures."""
    needed = text("pyproject.toml").split("\ndependencies = [")[1].split("]")[0]
    needed += re.findall(r"^plot = \[(.*?)\]", text("pyproject.toml"), flags=re.M)[0]
    return dict(re.findall(r'"(\w+)>=([\d.]+)"', needed))


def numbers(version: str) -> list[int]:
    """2 and 2.0.0 are the same version."""
    parts = [int(part) for part in version.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return parts


def test_one_version_everywhere() -> None:
    assert re.search(rf"^version: {re.escape(cm.__version__)}$", text("CITATION.cff"), flags=re.M)
    assert re.search(rf"^  version: {re.escape(cm.__version__)}$", text("packaging/conda/recipe.yaml"), flags=re.M)
    assert re.search(r"^## (\S+)$", text("CHANGELOG.md"), flags=re.M)[1] == cm.__version__  # type: ignore[index]
    assert '[tool.hatch.version]\npath = "clmapreduce/version.py"\n' in text("pyproject.toml")


def test_the_oldest_versions_are_those_that_are_tested() -> None:
    tested = dict(re.findall(r"^(\w+)==([\d.]+)$", text("packaging/minimum.txt"), flags=re.M))
    assert tested.keys() == minimums().keys()
    for name, version in minimums().items():
        assert numbers(tested[name]) == numbers(version), name


def test_the_recipe_needs_what_the_package_needs() -> None:
    run = text("packaging/conda/recipe.yaml").split("\n  run:\n")[1].split("\ntests:")[0]
    recipe = dict(re.findall(r"^    - (\w+) >=([\d.]+)$", run, flags=re.M))
    assert {name: numbers(version) for name, version in minimums().items() if name != "matplotlib"} == {
        name: numbers(version) for name, version in recipe.items()
    }


def test_the_sdist_holds_what_it_names() -> None:
    include = text("pyproject.toml").split("[tool.hatch.build.targets.sdist]")[1].split("]")[0]
    names = re.findall(r'"/([^"]+)"', include)
    assert {"docs", "examples", "CHANGELOG.md", "packaging"} <= set(names)
    assert not [name for name in names if not (ROOT / name).exists()]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_of_the_papers_lead_somewhere(name: str) -> None:
    for link in re.findall(r"\]\((?!https:)([^)#]+)\)", text(name)):
        assert (ROOT / link).exists(), link


def test_the_long_description_has_absolute_links() -> None:
    pattern = re.search(r"^pattern = '(.*)'$", text("pyproject.toml"), flags=re.M)
    replacement = re.search(r"^replacement = '(.*)'$", text("pyproject.toml"), flags=re.M)
    assert pattern and replacement
    readme = re.sub(pattern[1], replacement[1], text("README.md"))
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert len(links) > 5 and all(link.startswith(("https://", "#")) for link in links)
