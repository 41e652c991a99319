"""Memory that the recorder shares with the agent in each process."""
