"""Processes and threads that start, ask, answer and wait for each other."""
