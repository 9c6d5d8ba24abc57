"""Extraction with a model: which windows to ask about, the run, and what is written of each reply."""
