"""The file: how it is opened, what its tables are, and all SQL that writes them."""
