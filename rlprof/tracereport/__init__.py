"""``rlprof trace``: what any torch.profiler trace says by itself, without a run."""
