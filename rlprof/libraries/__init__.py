"""Libraries that trainings use, a file for each kind: what rlprof knows of their code."""
