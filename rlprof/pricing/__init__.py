"""Tell what fixes are worth: from findings to prices, and one ranking.

All that is worth something is an entry of one sale (``sale.py``). A gain that was measured, by trying the fix, comes in at two
places, and the rest follows:

- ``claim_of`` in ``samples.py``, or ``SeenInWindows.share`` for what windows show: the interval that was measured takes the place
  of the predicted one. A finding then carries it as it carries ``savings`` or a ``remainder``; the nodes stay claimed,
  so that nobody else sells their time.
- ``worth`` in ``ranking.py``: its confidence goes before those of predictions, and by that it is sold before them, too.
"""
