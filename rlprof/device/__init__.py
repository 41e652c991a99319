"""Tell what a torch.profiler trace says of the devices: when they worked, when they waited, and for what."""
