"""Programs from source text: built for a queue, and kept on disk."""
