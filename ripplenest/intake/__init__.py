"""From what a user hands over to signed rows of stored parts, checked against the state."""
