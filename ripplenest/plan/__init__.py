"""Engine-neutral plans: sums of products over stored tables."""
