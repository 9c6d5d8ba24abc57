"""Graphs that come as files: triples in tables, JSON lines or RDF, and tables of nodes."""
