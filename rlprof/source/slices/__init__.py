"""Slices of a program: which of its statements depend on which, by the names of its variables and attributes."""
