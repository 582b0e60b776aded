"""Loops over arrays of private data, compiled or plain Python; they draw no random numbers."""
