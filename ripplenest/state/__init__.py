"""What the state declares, and what makes a new version of it."""
