"""Samplers: programs that read another process's stacks from outside (the clock)."""
