"""Take secrets out of what rlprof keeps and tells, before it is written anywhere."""
