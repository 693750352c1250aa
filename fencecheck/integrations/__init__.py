"""Ready adapters for what teams run: one module for each framework, imported by the one who uses it, each with an extra of its own.

This package imports none of them, so that nobody pays for a framework that is not used.
"""
