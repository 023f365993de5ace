"""Gradients of pairwise reductions, for any library of tensors: which reduction has which gradient."""
