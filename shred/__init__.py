"""Nested to flat: A^F and A^Γ, sh^F and sh^Γ, s and u on values, labels, consistency (nrc-ivm, section 5)."""
