"""Errors between a context and kernel text."""

from __future__ import annotations


class RenderError(Exception):
    """A template that could not be rendered: names the template, the line, and what was missing or wrong."""
