"""Release functions: one call from private data to a private answer."""
