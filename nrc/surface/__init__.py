"""The two surfaces, Python and text, and what they share: both read into one typed AST."""
