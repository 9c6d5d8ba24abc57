"""The embedding model that comes inside the package: small, static, works offline right after the install.

The folder holds the model (``vectors.npy``, ``scales.npy``, ``vocabulary.txt``, ``model.json`` and the licence of its
teacher), the code that reads it (``word_pieces.py``, ``encoder.py``) and its face towards llm (``llm_model.py``).
Nothing is imported here, so that asking for the folder costs nothing.
"""

MODEL_ID = "graphrag-static-1"
