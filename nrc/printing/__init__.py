"""Terms, types and rows as text: in the notation of the paper, safe to print, in the order that rows are shown in."""
