"""Templates by the code in their archive: the same text as without; an archive that is not up to date is not used."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType

import pytest

from cl_templates import compiled
from cl_templates.compiled import BYTECODE, NAME, CompiledLookup, write
from cl_templates.loader import FOLDER

GREETING = """<%namespace name="words" file="/words/all.cl.mako"/>
<%def name="call(who)">
${words.greet(who)}
</%def>
% for who in people:
${call(who)}
% endfor
"""
WORDS = """<%def name="greet(who)">
hello ${who}
</%def>
"""
PEOPLE = ["Ada", "Emmy"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "words").mkdir()
    (tmp_path / "greeting.cl.mako").write_text(GREETING)
    (tmp_path / "words" / "all.cl.mako").write_text(WORDS)
    return tmp_path


@pytest.fixture
def archive(folder: Path) -> Path:
    return write(folder)


def greet(folder: Path, people: list[str] = PEOPLE) -> list[str]:
    text = CompiledLookup(folder).get_template("greeting.cl.mako").render_unicode(people=people)
    return [line for line in text.splitlines() if line]


def without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a template was compiled")

    monkeypatch.setattr("mako.template._compile_text", refuse)


def test_the_archive_gives_all_templates(folder: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_compiling(monkeypatch)
    assert greet(folder) == ["hello Ada", "hello Emmy"]


def test_a_folder_without_archive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert greet(folder) == ["hello Ada", "hello Emmy"]
    without_compiling(monkeypatch)
    with pytest.raises(AssertionError, match="compiled"):
        greet(folder)


def test_a_template_that_changed_since(folder: Path, archive: Path) -> None:
    (folder / "words" / "all.cl.mako").write_text(WORDS.replace("hello", "good day"))
    assert greet(folder) == ["good day Ada", "good day Emmy"]


def test_another_version_of_mako(folder: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "MAGIC_NUMBER", compiled.MAGIC_NUMBER + 1)
    assert greet(folder) == ["hello Ada", "hello Emmy"]
    without_compiling(monkeypatch)
    with pytest.raises(AssertionError, match="compiled"):
        greet(folder)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:200]),
        lambda path: path.write_bytes(path.read_bytes().replace(b"greeting", b"greetinh")),
        lambda path: path.write_bytes(bytes(byte ^ (i in range(60, 90)) for i, byte in enumerate(path.read_bytes()))),
        lambda path: path.unlink() or path.mkdir(),
    ],
    ids=["cut off", "another name", "other bytes", "a folder"],
)
def test_a_damaged_archive(damage: Callable[[Path], object], folder: Path, archive: Path) -> None:
    damage(archive)
    assert greet(folder) == ["hello Ada", "hello Emmy"]


def test_bytecode_of_this_python(folder: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python compiles nothing; where the bytecode is another version's, it does."""
    compiling: list[str] = []

    def compile_counted(name: str, code: str) -> CodeType:
        compiling.append(name)
        return compile(code, name, "exec")

    monkeypatch.setattr(compiled, "_compiled", compile_counted)
    assert greet(folder) == ["hello Ada", "hello Emmy"] and not compiling
    monkeypatch.setattr(compiled, "BYTECODE", "bytecode/00000000")
    assert greet(folder) == ["hello Ada", "hello Emmy"]
    assert compiling == ["greeting.cl.mako", "words/all.cl.mako"]


def test_the_same_templates_give_the_same_bytes(folder: Path, archive: Path) -> None:
    before = archive.read_bytes()
    (folder / "greeting.cl.mako").touch()
    assert write(folder).read_bytes() == before


ERRORS = """
import pathlib, sys
from cl_templates import RenderError, loader
from cl_templates.compiled import CompiledLookup, write
folder = pathlib.Path(sys.argv[1])
for archived in (False, True):
    if archived:
        write(folder)
    loader._lookup = CompiledLookup(folder)
    for context in ({}, {"parameters": 3, "compute_mode": "par", "block": 64, "narrow": True, "arrays": ()}):
        try:
            loader.render("kernel/pairs/pairwise_pack", {"vendor": "portable", **context})
        except RenderError as error:
            print(error)
"""


def test_errors_name_the_template_and_the_line(tmp_path: Path) -> None:
    """With the archive as without it. In a process of its own: Mako knows the lines of one template of a name."""
    shutil.copytree(FOLDER, tmp_path / "templates", ignore=shutil.ignore_patterns("*.py", "__pycache__", NAME))
    command = [sys.executable, "-c", ERRORS, str(tmp_path / "templates")]
    ran = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=True)
    messages = ran.stdout.splitlines()
    assert len(messages) == 4 and messages[:2] == messages[2:]
    assert all("line " in message for message in messages)


def test_an_entry_for_every_template(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "templates", ignore=shutil.ignore_patterns("*.py", "__pycache__", NAME))
    with zipfile.ZipFile(write(tmp_path / "templates")) as archive:
        names = set(archive.namelist())
    templates = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.cl.mako")}
    assert names == templates | {f"{BYTECODE}/{name}" for name in templates}
