"""Optimal policies of queues, between bounds that hold for the infinite system."""
