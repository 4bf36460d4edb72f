"""Who must be told what, and when?"""
