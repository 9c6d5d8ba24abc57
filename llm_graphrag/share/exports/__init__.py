"""The graph as files that other programs read: tables, GraphML, RDF, Parquet, and bulk loads of graph databases."""
