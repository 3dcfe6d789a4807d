"""Integer programs of few rows over many columns: prices, bounds, and a search of the rest."""
