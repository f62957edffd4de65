"""Terms that mean the same: the normal form, what conditions say of rows, and the passes before views are derived."""
