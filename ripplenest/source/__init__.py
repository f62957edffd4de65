"""What other programs read by themselves: views and relations at one version as a Spark data source."""
