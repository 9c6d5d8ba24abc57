"""The pages, one file each; a view is one function ``(datasette, request)``."""
