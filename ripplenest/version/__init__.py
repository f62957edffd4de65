"""One version of all tables: what can be read of it, and what a batch puts on top."""
