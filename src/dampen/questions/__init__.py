"""The questions: one folder each, with the methods that answer it and their proofs."""
