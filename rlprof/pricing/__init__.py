"""What fixes are worth: from findings to prices, and one ranking."""
