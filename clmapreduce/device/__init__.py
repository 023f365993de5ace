"""The door to drivers: contexts, arrays on devices, built plans."""
