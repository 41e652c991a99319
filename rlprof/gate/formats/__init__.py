"""A check's outcome as text and as documents for other tools."""
