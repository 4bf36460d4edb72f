"""What passed over the wire?

Standard library only, and nothing of ours: this folder also runs beside another SDK version in an interpreter of its
own. The clock is passed in, plain dicts come out.
"""
