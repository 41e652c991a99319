"""Work on arrays, and on numbers that could be one."""
