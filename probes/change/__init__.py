"""What changed for customers between two states of a service, and how sure is that?"""
