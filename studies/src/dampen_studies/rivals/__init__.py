"""Methods beside each other on public data, and their exact laws: for study, not private."""
