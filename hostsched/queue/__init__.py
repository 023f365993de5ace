"""Command queues: what they share, what they enqueue, and waits for it."""
