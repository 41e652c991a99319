"""Processes of a check: started, waited for, asked and ended whole."""
