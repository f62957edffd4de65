"""What is declared: relations with their stored parts, and the shape of what is read."""
