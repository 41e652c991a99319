"""Where the time of a run goes: its samples folded by phase, process and cause."""
