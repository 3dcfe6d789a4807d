"""Statistics of the rows of a bench, shared by the terminal, the page and the pictures.

A *contender* is a policy, with its options where the rows have it with several. Its *score* on an
instance is the mean of its objectives over its seeds. A run counts where it has an objective,
breaks no side constraint, and answers the same question as its reference. A problem's instances are
those on which some contender has a score. Contenders are ranked by score, not by gap: gaps to
different references cannot be compared.
"""
