"""Tell what the source of hot files says: statements, loops, and the user's lines in a call tree."""
