"""Device memory: buffers, and the arena that hands them out."""
