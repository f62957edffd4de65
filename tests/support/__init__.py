"""What the property tests share: random schemas, queries, databases and batches, and what they covered."""
