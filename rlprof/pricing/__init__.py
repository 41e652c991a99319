"""Tell what fixes are worth: from findings to prices, and one ranking.

All that is worth something is an entry of one sale (``sale.py``), in the order of its confidence and its share (``worth`` in ``ranking.py``). A gain
that was measured, by trying the fix, takes the place of the predicted one after the sale, and the findings are ranked anew (``with_experiments`` in
``experiments.py``): nodes stay with whom they were sold to, so that nobody else sells their time.
"""
