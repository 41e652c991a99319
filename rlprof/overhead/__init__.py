"""The price of rlprof itself: a training with it and without, in pairs of runs."""
