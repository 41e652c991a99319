"""The command line: the only place that prints, opens output files for the user, or exits."""
