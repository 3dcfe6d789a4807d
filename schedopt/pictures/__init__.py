"""Charts, pictures of plans, and the style of all pictures."""
