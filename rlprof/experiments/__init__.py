"""Measure what findings are worth: treatments that are switched on and off while a training runs."""
