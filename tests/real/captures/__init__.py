"""Real servers in front of broken, slow and healthy origins; `capture.py` beside this package records what they answer."""
