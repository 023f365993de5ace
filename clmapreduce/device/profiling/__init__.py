"""Where the time of a block of code went: builds, plans, copies, kernels, and what lies between them."""
