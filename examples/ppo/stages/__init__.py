"""The same training several times; ``diff`` two neighbours to see the fix between them."""
