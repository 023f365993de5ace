"""Plans over segments of a line, and over runs of equal keys."""
