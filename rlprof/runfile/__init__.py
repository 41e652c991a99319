"""The run file: one portable SQLite file per run (step 2 of the data flow)."""
