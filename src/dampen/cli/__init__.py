"""The `dampen` command: every command is parse, one call of the library, print.

`main` runs it; a file holds one command, or a few that belong together.  They share `options` and
`output`.  What a command has paid for is in its `receipt`, and `question_command.deliver` sees to
it that no paid answer gets lost.
"""
