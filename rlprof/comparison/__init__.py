"""Two runs compared: what the second does differently, and its output formats."""
