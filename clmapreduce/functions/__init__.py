"""Functions that users pass: in pickles, and as keys of what is cached for them."""
