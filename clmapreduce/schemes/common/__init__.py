"""What plans and kernels of every kind share: kernel specifications, stores, arrays, plans in a row."""
