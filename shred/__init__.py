"""Nested to flat: A^F and A^Γ, sh^F and sh^Γ, s and u on values, labels, consistency (nrc-ivm, section 5).

Labels are typed variants. A label type lists the sites that can have made it, each with the types of its parameters,
so a label is a few typed columns: no encoding, no hash, no generated id, and it can be taken apart again (which is
what a domain needs). The label union ∪ and the application of a dictionary to a label are resolved statically, by
site (``nrc/rewriting/normal.py``).

Contexts are substituted. Figure 6 binds x^Γ by ``let``. Dictionaries are closed (their parameters capture every free
variable), so ``shred/terms.py`` keeps x^Γ in its environment instead and no dictionary-valued ``let`` exists.
"""
