"""One module per study: what is computed."""
