"""The history of runs: one row for each, in order of time, and its output formats."""
