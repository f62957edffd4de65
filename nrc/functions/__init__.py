"""What scalar functions and folds are: type rule, reference meaning and failures of each, in one table for either."""
