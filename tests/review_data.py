"""A knowledge base with something to review: types that a scripted model asks for, and names that are alike.

Four types wait (``mentors``, ``fears``, ``weighs``, ``sailor``), one is muted (``annoys``). What is said with
``mentors`` in b.md is in a kept reply already, so approving it brings a fact. *Ana Ruiz* may be *A. Ruiz*, and there
are three Müllers of whom any two may be one.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import write_notes
from proposals_model import extract, open_kb, say
from scripted_model import ScriptedModel, registered

from llm_graphrag.review.merge_candidates import suggest

NOTES = {
    "a.md": "# Harbour\n\nIn spring the boats come out. Mira mentors Otto. Mira fears Dan.\n",
    "b.md": "# Winter\n\nOtto mentors! Pia. Nobody minds.\n\nMira fears! Dan.\n",
    "c.md": "Pia weighs 60. Otto is a sailor.\n",
    "d.md": "Otto weighs 80. Mira is a sailor. Dan annoys Pia.\n",
    "Ana Ruiz.md": "---\ntype: person\nborn: 1971\n---\nAna Ruiz builds boats.\n\nemployer:: [[Kestrel Works]]\n",
    "log.md": "We met [[A. Ruiz]] at the harbour.\n\nguest:: [[A. Ruiz]]\n",
    "plan.md": "Ask [[A. Ruiz]], that is [[Ana Ruiz]], about the keel.\n\nguest:: [[Ana Ruiz]]\n",
    "letters.md": "[[Müller]] wrote to [[Mueller]], and [[Muller]] kept both letters.\n",
}


def review_kb(folder: Path, name: str = "notes.db") -> Path:
    """Write the notes, have the model read them, look for merges; returns the file, nothing waiting in a log."""
    folder.mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch, registered(ScriptedModel(say)):
        patch.setenv("LLM_USER_PATH", str(folder / "user"))
        with open_kb(folder, name) as kb:
            kb.add([write_notes(folder / "vault", NOTES)])
            extract(kb)
            suggest(kb.connection, kb.settings)
            kb.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder / name
