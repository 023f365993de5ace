"""Series over a line: power series, and functions that are right to `digits=`."""
