"""In which formats can a run be read?

One file per format, each `report(run, out) -> None` and pure.
"""
