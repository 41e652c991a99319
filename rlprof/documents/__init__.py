"""Documents as blocks: a subject gives its blocks once, and each text format writes them."""
