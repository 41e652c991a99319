"""Analysis: pure transforms from a recording to a profile (step 3 of the data flow)."""
