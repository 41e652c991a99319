"""The values that cross a step: frozen, with plain fields."""
