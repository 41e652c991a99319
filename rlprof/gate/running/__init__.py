"""Programs that run in processes of their own, one after the other or in turns, and are ended whole."""
