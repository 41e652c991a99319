"""Networks: what they are asked for, how often, and what autograd records of it."""
