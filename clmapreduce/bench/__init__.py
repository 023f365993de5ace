"""`clmapreduce bench`: ten rows beside the libraries that are installed, as JSON and as a page."""
