"""Policies for logs: jobs one by one, with the information that operators have."""
