"""Terms of pairs by hardware's approximations: which functions, how far off a term may be, and how they are written."""
