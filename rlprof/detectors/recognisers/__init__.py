"""What single detectors look for in names and source text."""
