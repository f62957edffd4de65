"""What is not linear becomes maps of its own: the cut, which maps are one, and what is asked of them for less."""
