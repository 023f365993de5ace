"""Launch boxes that are measured on a device: the table of them, the search, and `cm.tune`."""
