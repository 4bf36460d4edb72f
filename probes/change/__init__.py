"""Before and after: runs in, rows of a table and findings out.

Pure, and without a database; see `fingerprint` for what the edge looks like.
"""
