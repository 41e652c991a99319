"""Runs of a program, one after the other or in turns, and what they came to."""
