"""From stored maps back to nested rows; what was touched; whether all is what it should be."""
