"""A run is a folder: `run.json` says what was run, and each stage appends its own JSONL.

retrieve → structure → compress → answer → judge. A run that was stopped goes on where it was: what is
finished is not done again, what failed is.
"""
