"""Several devices of one context: which they are, who does a block, arrays that lie on them in pieces."""
