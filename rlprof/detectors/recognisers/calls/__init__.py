"""Calls that have a cheaper way, or that need not be made again."""
