"""What Ripplenest costs where Spark does the work, on the workload F2, beside Spark that computes it again."""
