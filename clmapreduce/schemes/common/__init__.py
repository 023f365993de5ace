"""Shared by all plans and kernels: kernel specifications, stores, arrays, sequences of plans."""
