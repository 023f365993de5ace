"""What the array-API standard has and NumPy's arrays do not."""
