"""GraphML, as Gephi, Cytoscape, yEd and networkx read it: nodes with their attributes, edges with their evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from .graph import Graph

__all__ = ["to_graphml"]

#: Characters that XML cannot hold, however they are written.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

NODE = {"name": "string", "type": "string", "aliases": "string"}
EDGE = {"relation": "string", "evidence": "long", "confidence": "double", "quote": "string", "source": "string"}


def to_graphml(graph: Graph, out: Path) -> str:
    """Write GraphML. Other names, and attributes with several values, are JSON lists, since it has none."""
    attributes = graph.values()
    names = sorted({name for of in attributes.values() for name in of})
    keys = {name: f"a{place}" for place, name in enumerate(names, 1)}
    with out.open("w", encoding="utf-8", newline="\n") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        file.writelines(_keys(keys))
        file.write('<graph edgedefault="directed">\n')
        for entity in graph.entities:
            data = {"name": entity.name, "type": entity.type, "aliases": _list(entity.aliases)}
            own = attributes.get(entity.number, {})
            data |= {keys[name]: values[0] if len(values) == 1 else _list(values) for name, values in own.items()}
            file.write(f'<node id="n{entity.number}">{_data(data)}</node>\n')
        for number, t in enumerate(graph.triples(), 1):
            stated = t.stated
            data = {
                "relation": t.relation, "evidence": str(stated.evidence), "confidence": stated.sure,
                "quote": stated.quote, "source": stated.source,
            }  # fmt: skip
            ends = f'source="n{t.head.number}" target="n{t.tail.number}"'
            file.write(f'<edge id="e{number}" {ends}>{_data(data)}</edge>\n')
        file.write("</graph>\n</graphml>\n")
    return ""


def _keys(attributes: Mapping[str, str]) -> Iterator[str]:
    for for_, kinds in (("node", NODE), ("edge", EDGE)):
        for name, kind in kinds.items():
            yield f'<key id="{name}" for="{for_}" attr.name="{name}" attr.type="{kind}"/>\n'
    for name, key in attributes.items():
        shown = f"attribute {name}" if name in NODE else name
        yield f'<key id="{key}" for="node" attr.name={quoteattr(_xml(shown))} attr.type="string"/>\n'


def _data(values: Mapping[str, str]) -> str:
    return "".join(f'<data key="{key}">{escape(_xml(value))}</data>' for key, value in values.items() if value)


def _xml(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text.replace("\r", "\n"))


def _list(values: tuple[str, ...] | list[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False) if values else ""
