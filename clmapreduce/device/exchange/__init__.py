"""Arrays shared with other libraries: pyopencl's memory and ours, and DLPack."""
