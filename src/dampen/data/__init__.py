"""Where private data comes from: files, read only when a release asks for them."""
