"""One adapter for each engine, and the one `Result` that all of them return."""
