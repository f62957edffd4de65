"""Work that tasks of Spark do on a state: rows that never pass the driver, which holds plans and catalogue rows."""
