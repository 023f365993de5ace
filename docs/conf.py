"""Sphinx's settings. `make docs` builds the site from the pages beside this file, the docstrings and the examples."""

from __future__ import annotations

import logging
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent), str(DOCS / "sphinx")]

from docstrings import write_as_rst  # noqa: E402  # in docs/sphinx
from inline import inline_drawings  # noqa: E402

from clmapreduce import __version__  # noqa: E402

logging.basicConfig(level=logging.WARNING)  # before the theme's colours, whose package sets the root logger to INFO

project = "clmapreduce"
author = "clmapreduce contributors"
copyright = author  # Sphinx asks for this name
release = version = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/**/*.ipynb", "gallery/**/*.py"]

# ------------------------------------------------------------------------------------------------------------- pages
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
default_role = "literal"  # docstrings put code between single backquotes

# --------------------------------------------------------------------------------------------------------- docstrings
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_mock_imports = [name for name in ("torch", "jax", "sklearn") if find_spec(name) is None]
python_maximum_signature_line_length = 100

# ------------------------------------------------------------------------------------------------------- other projects
INVENTORIES = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "pyopencl": "https://documen.tician.de/pyopencl/",
}


def answers(address: str) -> bool:
    """Whether an inventory can be read: without network the pages lack links to other projects, nothing else."""
    try:
        with urllib.request.urlopen(f"{address}objects.inv", timeout=3) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


with ThreadPoolExecutor() as pool:
    reached = list(pool.map(answers, INVENTORIES.values()))
intersphinx_mapping = {
    name: (address, None) for (name, address), yes in zip(INVENTORIES.items(), reached, strict=True) if yes
}

# ------------------------------------------------------------------------------------------------------------- examples
FRAMEWORKS = {"torch": "torch", "dask": "dask", "jax": "jax", "sklearn": "sklearn", "pandas": "pandas"}
"""An example that ends in _NAME is run where its library is installed, and shown without output elsewhere."""
missing = "|".join(name for name, library in FRAMEWORKS.items() if find_spec(library) is None)
TOPICS = ("first_steps", "images", "sequences", "kernels", "geometry", "sparse", "statistics", "scale", "frameworks")
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": rf"^(?!.*_({missing})\.py$).*\.py$" if missing else r"\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 5,
    "subsection_order": [*(f"../examples/{topic}" for topic in TOPICS), "*"],
    "within_subsection_order": "FileNameSortKey",
}

# ---------------------------------------------------------------------------------------------------------------- theme
html_theme = "furo"
html_title = f"clmapreduce {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
copybutton_exclude = ".linenos, .gp, .go"


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-docstring", write_as_rst)
    app.connect("doctree-read", inline_drawings)
