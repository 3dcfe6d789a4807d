"""What compiled kernels of several problems have in common."""
