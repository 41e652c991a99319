"""Recognise in the source text, the values and the samples of a run what detectors tell of."""
