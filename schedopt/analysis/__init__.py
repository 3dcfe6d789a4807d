"""Statistics of the rows of a bench, shared by the terminal, the page and the pictures."""
