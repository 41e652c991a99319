"""Show warnings once, with their own lines."""

import warnings

from busy import work

work(0.1)
warnings.warn("deprecated here", DeprecationWarning, stacklevel=1)
warnings.warn("user here", UserWarning, stacklevel=1)
print(warnings.filters == [*warnings.filters], len(warnings.filters))
