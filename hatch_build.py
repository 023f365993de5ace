"""Writes the compiled templates into the distribution (cl_templates/compiled)."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Templates(BuildHookInterface):  # type: ignore[type-arg]
    """A build hook of hatchling: the archive is in no checkout, so it is named as an artifact."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        statements = "import pathlib, cl_templates.compiled as c; c.write(pathlib.Path('cl_templates'))"
        environment = {**os.environ, "PYTHONHASHSEED": "0"}  # every build writes the same bytes
        subprocess.run([sys.executable, "-c", statements], cwd=self.root, env=environment, check=True)
        build_data["artifacts"].append("/cl_templates/compiled.zip")
