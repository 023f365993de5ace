"""Which launches have something to do where cells are looked for."""

GATES = "cell_gates"
"""Three numbers: whether cells are worth a closer look; after it, whether they are used; and whether they must not be.
"""
WORTH, USED, UNUSED = (0, True), (1, True), (1, False)
"""Conditions: a place among them, and whether its number is set."""
