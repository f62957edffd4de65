"""Rows, columns, names and texts: what values look like outside of the calculus."""
