"""External synthetic probe and edge-path tester for LLM APIs."""

__version__ = "0.1.0"
