"""Traces of torch.profiler as files: JSON, often gzipped, sometimes cut off or not quite JSON."""
