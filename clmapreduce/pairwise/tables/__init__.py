"""Tables in formulas of pairs."""
