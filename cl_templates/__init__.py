"""Kernel templates and their renderer: how a computation is spelled in OpenCL C.

Text only; imports Mako and the standard library.
"""

from cl_templates.errors import RenderError
from cl_templates.loader import divides_correctly, may_contract, render, template_names

__all__ = ["RenderError", "divides_correctly", "may_contract", "render", "template_names"]
