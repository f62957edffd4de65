"""What a query costs: cost domains and the interpretation C[[.]] (nrc-ivm, section 4.2)."""
