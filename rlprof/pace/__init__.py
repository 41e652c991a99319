"""How fast a run trained: its steps, its phases, and where its rate is steady."""
