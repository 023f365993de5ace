"""LazyTensor: vectors of pairs that are described, and computed when they are reduced."""
