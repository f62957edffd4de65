"""Rows by what they are asked for: by hashes of keys, and in an order, in segments and in what a change has."""
