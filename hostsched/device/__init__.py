"""Devices: what they are, which one to use, and the OpenCL context on one."""
