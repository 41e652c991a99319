"""Python source as statements, and whose code a file is: text alone, without a run."""
