"""Memory that anticipates: what was said is filed at once under the situations in which it will matter (AM)."""
