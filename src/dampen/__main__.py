"""`python -m dampen` is `dampen`."""

from dampen.cli.main import main

main()
