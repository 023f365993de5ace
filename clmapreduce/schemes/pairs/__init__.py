"""Plans over all pairs of rows and columns, or over blocks of pairs: the portable schemes."""
