"""Thresholds of MSFQ: exact response times, and what approximates them."""
