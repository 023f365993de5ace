"""Sorts on a device: numbers, the order of numbers, numbers with what goes with them."""
