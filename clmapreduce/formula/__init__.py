"""Formulas: what is computed for one index; traced from Python or parsed from text, emitted as OpenCL C for any
`lanes`.
"""

from clmapreduce.formula import functions  # noqa: F401  # it enters its functions into the registry
