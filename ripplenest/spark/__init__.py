"""The Spark back end: the only package that imports pyspark."""
