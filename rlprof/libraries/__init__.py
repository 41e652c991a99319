"""Libraries that trainings use, one file each: what rlprof knows of their code."""
