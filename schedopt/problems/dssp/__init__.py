"""What the application knows of dssp."""
