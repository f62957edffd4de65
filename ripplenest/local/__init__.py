"""The engine in this process: joins, conditions and heads as operations on whole columns."""
