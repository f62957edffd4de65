"""What users call: the database, batches with deep addresses, handles to read by."""
