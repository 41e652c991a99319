"""Detectors: one bottleneck, one file (step 4 of the data flow)."""
