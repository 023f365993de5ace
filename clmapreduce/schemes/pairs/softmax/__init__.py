"""Sums of exponentials of inner products times weights, all of floats of 16 bits, in one walk over the columns."""
