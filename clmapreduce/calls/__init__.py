"""Arguments, options and results of calls, for all front ends, first and repeated calls."""
