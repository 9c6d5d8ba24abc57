"""The commands of ``llm graphrag``: parse, call, print. One file per group of commands."""
