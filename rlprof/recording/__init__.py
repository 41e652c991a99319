"""Recording: start the target, sample it, write the run file (step 1 of the data flow)."""
