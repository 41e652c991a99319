"""The gate: base and head run in turn, and whether head became slower."""
