"""The same training four times; ``diff`` two neighbours to see the fix between them."""
