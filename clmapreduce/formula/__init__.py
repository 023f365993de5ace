"""Formulas: what is computed for one index; traced from Python or parsed from text, emitted as OpenCL C for any
`lanes`.
"""
