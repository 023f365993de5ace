"""OpenCL drivers: which there are, every call to them, and what their answers mean."""
