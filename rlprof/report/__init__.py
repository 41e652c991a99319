"""From a recording to a report, and the words that every renderer uses."""
