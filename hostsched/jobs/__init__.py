"""Jobs: the order that follows from what they read and write, and long ones in pieces."""
