"""JAX keeps 64 bits in these tests, and as it was before in all others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def wide_numbers() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)
