"""What every engine of every table keeps: small random formulations, and one suite over them."""
