"""Claims of the papers and runners that judge them: an entry for each figure, table or theorem."""
