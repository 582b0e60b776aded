"""Two labels that carry a rule: listed among public labels, they stand for cells without one."""

__all__ = ["MISSING", "OTHER", "RULES"]

MISSING = "(missing)"
"""Stands for missing cells."""
OTHER = "(other)"
"""Stands for values that are not listed."""
RULES = (MISSING, OTHER)
