"""Series over a line: power series, and functions that are right to the digits asked for."""
