"""Fixes, one file each."""
