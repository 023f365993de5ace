"""Templates as the Python code that Mako makes of them, in one file beside the templates: to compile them takes a
process longer than to render them. The build of a distribution writes the file, and so does an editable installation
(hatch_build.py). Nothing depends on it.

The file is a zip archive with an entry for each template. An entry holds the digest of the template's text, and the
code. Code is used for the same text and the same version of Mako only. A template without such code is compiled.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from functools import cached_property
from io import BytesIO
from pathlib import Path
from types import ModuleType

from mako.codegen import MAGIC_NUMBER
from mako.lookup import TemplateLookup
from mako.template import ModuleTemplate, Template

NAME = "compiled.zip"


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

    def _entry(self, name: str) -> str:
        """An entry of the archive; empty where there is none."""
        try:
            return "" if self._archive is None else self._archive.read(name).decode()
        except (KeyError, ValueError, zipfile.BadZipFile, zlib.error):
            return ""

    def _loaded(self, name: str) -> Template | None:
        """A template by its entry's code; None where there is no entry for this text."""
        digest, _, code = self._entry(name).partition("\n")
        path = self._folder / name
        if not code or not path.is_file():
            return None
        text = path.read_text(encoding="utf-8")
        if digest != _digest(text):
            return None
        module = ModuleType(re.sub(r"\W", "_", name))
        exec(compile(code, module.__name__, "exec"), module.__dict__)
        return ModuleTemplate(
            module, template_filename=str(path), module_source=code, template_source=text, lookup=self
        )


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
            archive.writestr(zipfile.ZipInfo(name), f"{_digest(text)}\n{code}", zipfile.ZIP_DEFLATED)
    return path


def _digest(text: str) -> str:
    """Of a template's text, for this version of Mako."""
    return hashlib.sha256(f"{MAGIC_NUMBER}\n{text}".encode()).hexdigest()
