"""Looks at values: which lines they are asked of, and when."""
