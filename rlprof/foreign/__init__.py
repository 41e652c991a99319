"""Profiles that other programs wrote, read as recordings: a side door beside the run file."""
