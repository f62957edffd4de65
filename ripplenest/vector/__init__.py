"""Products over whole columns: scalars as kernels, joins as chains of probes."""
