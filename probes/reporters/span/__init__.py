"""A stretch of time in each format: what is wrong now, and how it went until then."""
