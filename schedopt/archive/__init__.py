"""The archive: frozen sets of instances with the best that is known of each, and its proof."""
