"""How a query changes: delta rules (nrc-ivm, figure 4 and section 5.2) and the trigger program they make."""
