"""What a query means: types, terms, typing, the reference interpreter, the normal form and the Python DSL."""
