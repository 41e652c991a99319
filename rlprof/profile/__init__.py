"""The time of a run: its samples folded by phase, process and cause."""
