"""Templates as the Python code that Mako makes of them, in one file beside the templates: to compile them takes a
process longer than to render them. The build of a distribution writes the file, and so does an editable installation
(hatch_build.py). Nothing depends on it.

The file is a zip archive with two entries for each template: the digest of its text and the code; and the code as
bytecode, for Python takes as long to compile it as to run it. Code is used for the same text and the same version of
Mako only, bytecode for the version of Python that wrote it. A template without such code is compiled.
"""

from __future__ import annotations

import hashlib
import marshal
import re
import zipfile
import zlib
from functools import cached_property
from importlib.util import MAGIC_NUMBER as PYTHON
from io import BytesIO
from pathlib import Path
from types import CodeType, ModuleType

from mako.codegen import MAGIC_NUMBER
from mako.lookup import TemplateLookup
from mako.template import ModuleTemplate, Template

NAME = "compiled.zip"
BYTECODE = f"bytecode/{PYTHON.hex()}"
"""The archive's folder of bytecode, for this version of Python."""
FORMAT = 2
"""Of marshal: the last one that gives the same bytes for equal code."""


class CompiledLookup(TemplateLookup):  # type: ignore[misc]
    """Finds templates in a folder, as Mako's own lookup does; the archive's code where it is up to date."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directories=[str(folder)], strict_undefined=True, input_encoding="utf-8")
        self._folder = folder
        self._templates: dict[str, Template | None] = {}

    def get_template(self, uri: str) -> Template:
        """The template of a name, whose folders begin in the lookup's folder."""
        name = uri.lstrip("/")
        if name not in self._templates:
            self._templates[name] = self._loaded(name)
        return self._templates[name] or super().get_template(uri)

    @cached_property
    def _archive(self) -> zipfile.ZipFile | None:
        """The archive, in memory; None where there is none, or it is damaged."""
        try:
            return zipfile.ZipFile(BytesIO((self._folder / NAME).read_bytes()))
        except (OSError, zipfile.BadZipFile):
            return None

    def _entry(self, name: str) -> bytes:
        """An entry of the archive; empty where there is none."""
        try:
            return b"" if self._archive is None else self._archive.read(name)
        except (KeyError, ValueError, zipfile.BadZipFile, zlib.error):
            return b""

    def _loaded(self, name: str) -> Template | None:
        """A template by its entry's code; None where there is no entry for this text."""
        digest, _, code = self._entry(name).decode(errors="replace").partition("\n")
        path = self._folder / name
        if not code or not path.is_file():
            return None
        text = path.read_text(encoding="utf-8")
        if digest != _digest(text):
            return None
        module = ModuleType(_module_name(name))
        exec(self._bytecode(name) or _compiled(name, code), module.__dict__)
        return ModuleTemplate(
            module, template_filename=str(path), module_source=code, template_source=text, lookup=self
        )

    def _bytecode(self, name: str) -> CodeType | None:
        """A template's code for this version of Python, if the archive has it."""
        stored = self._entry(f"{BYTECODE}/{name}")
        return marshal.loads(stored) if stored else None


def write(folder: Path) -> Path:
    """Compiles all templates of a folder and writes them into its archive. The same templates give the same bytes where
    PYTHONHASHSEED is the same: Mako writes names in the order of sets.
    """
    path = folder / NAME
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*.cl.mako")):
            name, text = file.relative_to(folder).as_posix(), file.read_text(encoding="utf-8")
            code = Template(text=text, uri=name, strict_undefined=True, input_encoding="utf-8").code
            code = re.sub(r"^_modified_time = .*$", "_modified_time = 0", code, flags=re.MULTILINE)
            bytecode = marshal.dumps(_compiled(name, code), FORMAT)
            for entry, content in ((name, f"{_digest(text)}\n{code}"), (f"{BYTECODE}/{name}", bytecode)):
                archive.writestr(zipfile.ZipInfo(entry), content, zipfile.ZIP_DEFLATED)
    return path


def _compiled(name: str, code: str) -> CodeType:
    return compile(code, _module_name(name), "exec")


def _module_name(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _digest(text: str) -> str:
    """Of a template's text, for this version of Mako."""
    return hashlib.sha256(f"{MAGIC_NUMBER}\n{text}".encode()).hexdigest()
