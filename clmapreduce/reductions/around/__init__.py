"""Operators made of other operators: several in one pass, under a mask, or left unfinished."""
