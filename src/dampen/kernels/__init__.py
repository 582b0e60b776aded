"""Loops over private data, compiled when the library is installed; else they run as Python.

Kernels take arrays and fill arrays; they draw nothing and decide nothing.
"""
