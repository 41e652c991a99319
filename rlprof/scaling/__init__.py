"""The rate over the number of workers: what a ladder of runs tells, and its output formats."""
