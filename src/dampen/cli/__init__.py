"""The `dampen` command: every command is parse, one call of the library, print.

`main` runs it; one file per command, besides `options` and `output`, which they share.  What a
command has paid for is in its `receipt`, and `delivery` sees to it that no paid answer gets lost.
"""
