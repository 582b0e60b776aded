"""Compiled loops: arrays in, arrays out.  No objects, no randomness, no validation."""
