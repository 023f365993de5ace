"""Plans over segments whose arrays lie on several devices, a stretch of rows or segments on each."""
