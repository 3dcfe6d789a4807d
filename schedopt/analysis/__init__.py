"""What the rows of a bench say: one arithmetic for the terminal and the page."""
