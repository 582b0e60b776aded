"""Selection and the mechanisms of the paper, without any problem."""
