"""Findings in torch traces: one cause of lost time on a device, one file."""
