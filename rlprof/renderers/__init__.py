"""Renderers: one output format, one file (the last step of the data flow)."""
