"""Loops over private data, compiled or plain: arrays in, arrays out; they draw nothing."""
