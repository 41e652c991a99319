"""The machine at hand, as the kernel tells of it."""
