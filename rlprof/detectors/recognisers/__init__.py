"""Tell what single detectors look for in names and source text."""
