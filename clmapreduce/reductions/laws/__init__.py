"""The laws that a user's operator must obey, tried on sample values."""
