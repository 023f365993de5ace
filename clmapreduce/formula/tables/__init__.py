"""Tables in formulas: arrays that are read at places which formulas compute."""
