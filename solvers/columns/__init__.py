"""Few rows over many columns: prices, whole-number bounds, and a search of what they leave open."""
