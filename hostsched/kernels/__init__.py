"""Built programs and their kernels, and what is known of how these run."""
