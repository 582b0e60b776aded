"""The paper's algorithms by their own names, on the core."""
