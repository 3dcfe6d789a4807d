"""Policies for logs: jobs one by one, with what operators know of them."""
