"""Which scheme, launch box, mode and scope a call runs with."""
