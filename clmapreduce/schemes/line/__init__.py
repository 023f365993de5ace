"""Plans over a line of elements: map, reduce, scan, unfold, and chains of them."""
