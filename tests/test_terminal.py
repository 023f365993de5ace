"""What the command line looks like: help and output within 80 columns, completion, what is printed on Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import clmapreduce as cm
from clmapreduce import cli
from clmapreduce.terminal import completion
from clmapreduce.terminal.fold import fold
from clmapreduce.terminal.progress import steps

COMMANDS = ("devices", "doctor", "demo", "bench", "tune", "completion")
ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("command", [[], *([command] for command in COMMANDS)], ids=lambda command: " ".join(command) or "-")
def test_help_is_80_columns_wide_and_names_the_exit_codes(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as error:
        cli.main([*command, "--help"])
    text = capsys.readouterr().out
    assert error.value.code == 0 and max(map(len, text.splitlines())) <= 80
    assert "exit codes:" in text
    assert command or all(f"\n    {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("command", ["devices", "doctor"])
def test_lines_are_80_columns_wide_but_for_paths(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command]) == 0
    long = [line for line in capsys.readouterr().out.splitlines() if len(line) > 80]
    assert all("/" in line or "\\" in line for line in long), long


def test_folded_text_keeps_its_words() -> None:
    text = "one two " * 40 + "/a/path/" + "x" * 100
    assert fold(text, indent=4, first=2).split() == text.split()
    assert {len(line) - len(line.lstrip()) for line in fold(text, indent=4, first=2).splitlines()} == {2, 4}


def test_folded_text_keeps_its_lines() -> None:
    """A list of devices stays one, and what of a line does not fit begins below its first word."""
    text = f"Found:\n  {'one ' * 30}\n  two\nName one."
    lines = fold(text, indent=1, first=0).splitlines()
    assert lines[0] == "Found:" and lines[-2:] == ["   two", " Name one."]
    assert len(lines) == 5 and all(line.startswith("   one") and len(line) <= 80 for line in lines[1:3])
    assert fold("") == ""


def test_an_interrupted_command_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cm, "devices", interrupted)
    assert cli.main(["devices"]) == 130
    assert capsys.readouterr().err == "clmapreduce devices: interrupted\n"


def test_a_bar_loses_no_item_and_prints_nothing_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(steps(iter("abc"), 3, "letters")) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""


def test_completion_without_argcomplete_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    assert cli.main(["completion", "bash"]) == 1
    assert 'pip install "clmapreduce[completion]"' in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completion_prints_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("argcomplete")
    assert cli.main(["completion", shell]) == 0
    assert "clmapreduce" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "words"),
    [("clmapreduce do", {"doctor"}), ("clmapreduce doctor --", {"--full", "--help", "--json"}), ("clmapreduce completion ", set(completion.SHELLS))],
)  # fmt: skip
def test_a_shell_gets_the_words_that_fit(typed: str, words: set[str], tmp_path: Path) -> None:
    """As argcomplete's scripts ask: the line and the cursor in the environment, the words in a file."""
    pytest.importorskip("argcomplete")
    answer = tmp_path / "answer"
    options = {
        "_ARGCOMPLETE": "1", "COMP_LINE": typed, "COMP_POINT": str(len(typed)), "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_IFS": "\n", "COMP_TYPE": "9", "_ARGCOMPLETE_SUPPRESS_SPACE": "1", "_ARGCOMPLETE_SHELL": "bash",
    }  # fmt: skip
    script = "import sys; from clmapreduce.cli import main; sys.exit(main())"
    process = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=os.environ | options, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr
    assert {word.strip() for word in answer.read_text().splitlines()} == words
