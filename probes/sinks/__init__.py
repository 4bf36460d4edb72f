"""Where do events go while a run is under way?

One file per output, each a function of one event.
"""
