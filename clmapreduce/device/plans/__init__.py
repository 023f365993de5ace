"""Built plans: their launches, and the caches that hold them."""
