"""Selection problems: one file each, with its utility, its sensitivities and its deviations."""
