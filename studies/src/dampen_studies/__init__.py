"""The evaluation of the paper: every figure and table, corrected and extended.

One module per study.  A study is a list of cells; a cell is a few public parameters, gets a seed
of its own and gives rows of a tidy table.  `runner` computes cells on several processes and
writes one CSV per study, byte-identical for any number of workers and after any interruption;
`claims` compares the numbers with the sentences of the paper; `drawing` and `report` show them.
"""
