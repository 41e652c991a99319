"""Gains that were promised, held against those that were measured once the fix was made."""
