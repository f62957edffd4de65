"""What a user would take instead: the view computed again after each batch, by engines that are good at it; and one
that maintains flat views. Each has the tables in memory, in its own form, and keeps its last answer there."""
