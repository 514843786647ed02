"""Fixtures of all tests. Lying here, it also lets them import `support`."""
