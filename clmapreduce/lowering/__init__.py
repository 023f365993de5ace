"""From vector formulas to pairs of scalar nodes, the form that kernels are made from."""
