"""The problems of all applications under one name: public parameters in, a selection out.

Each application keeps its mathematics beside its release function (`dampen.frequency`,
`dampen.percentiles`, `dampen.influence`, `dampen.trees`); this package gathers the problem classes
for those who compare mechanisms, prove privacy or write a problem of their own.
"""
