"""A knowledge graph of a person's notes in one SQLite file. Import what you need from the submodules."""

__version__ = "0.1.0"
