"""A Datasette with reviewers, and somebody with a browser in front of it; on both lines, and without llm."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from datasette.app import Datasette
from datasette_helpers import serve

ONE = hasattr(Datasette, "allowed")
REVIEW = "/notes/-/graph/review"


def reviewers(*ids: str) -> dict[str, Any]:
    """The configuration that lets these review, where this version of Datasette wants it."""
    if ONE:
        return {"config": {"permissions": {"graphrag-review": {"id": list(ids)}}}}
    return {"metadata": {"plugins": {"datasette-graphrag": {"review": {"id": list(ids)}}}}}


async def open_site(*paths: Path, **options: Any) -> Datasette:
    site = await serve(*paths, **(options or reviewers("rita", "ben")))
    if ONE:
        site.root_enabled = True
    return site


class Person:
    """Somebody with a browser: cookies, and the token of the forms that were shown."""

    def __init__(self, site: Datasette, name: str) -> None:
        self.site = site
        self.cookies = {"ds_actor": site.sign({"a": {"id": name}}, "actor")} if name else {}

    async def get(self, path: str) -> Any:
        response = await self.site.client.get(path, cookies=self.cookies)
        self.cookies.update(response.cookies)
        return response

    async def token(self) -> str:
        response = await self.get(REVIEW)
        found = re.search(r'name="csrftoken" value="([^"]+)"', response.text)
        return found[1] if found else ""

    async def post(self, path: str = REVIEW, /, *items: str, token: str | None = None, **fields: str) -> Any:
        data = {"csrftoken": await self.token() if token is None else token, "what": "proposal", **fields}
        return await self.site.client.post(
            path,
            data={**data, "item": list(items)},
            cookies=self.cookies,
            headers={"Sec-Fetch-Site": "same-origin"},
        )

    async def decide(self, action: str, *items: str, path: str = REVIEW, **fields: str) -> Any:
        return await self.post(path, *items, action=action, **fields)
