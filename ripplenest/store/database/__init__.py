"""The catalogue in its database: tables, statements, and the digests by which what is read is believed."""
