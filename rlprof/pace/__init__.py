"""The pace of a run: its steps, its phases, and the part in which its rate is steady."""
