"""A window: the numbered chunks that one extraction call shows to a model."""

from __future__ import annotations

from dataclasses import dataclass

from ...text.tokens import count_tokens

__all__ = ["Window", "WindowChunk"]


@dataclass(frozen=True, slots=True)
class WindowChunk:
    """A chunk as ``[number]`` of a prompt."""

    number: int
    chunk: int  # row id
    document: int  # row id
    title: str
    heading: str  # heading path, 'A > B'
    text: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive chunks; those of one document are in its order, and no chunk is cut."""

    chunks: tuple[WindowChunk, ...]
    context: str = ""  # what stands right before the first chunk in its document; not to be extracted from
    private: bool = False  # all of its documents are private, or none is

    @property
    def tokens(self) -> int:
        """Tokens of the text that is to be read."""
        return sum(count_tokens(chunk.text) for chunk in self.chunks)
