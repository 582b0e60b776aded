"""Loops over private data, compiled when the library is installed; else they run as Python.

Kernels take arrays and fill arrays; they draw nothing and decide nothing.  What Python and C call
by different names is in `primitives`; what stands in for Cython where nothing is compiled, in
`uncompiled`.
"""
