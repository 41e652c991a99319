"""Treatments, one file each."""
