"""Calls over segments whose host arrays have no room in device memory."""
