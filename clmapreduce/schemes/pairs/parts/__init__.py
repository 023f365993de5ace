"""Parts of pair kernels that several schemes share: what they say, in C, and what that needs."""
