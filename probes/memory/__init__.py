"""What did the canary see, and what did it say?"""
