"""Where approvals come in: a webhook, a small starlette app, which writes them to the database and wakes whoever waits."""

from __future__ import annotations

import asyncio

from orders import Orders
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


class Inbox:
    """Who waits for an approval in this process. What was approved stands in the database, so that a restart forgets nothing."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self._given: dict[str, asyncio.Event] = {}

    async def approval(self, order: str, plan: str) -> None:
        """Returns when the plan was approved."""
        given = self._given.setdefault(order, asyncio.Event())
        while await self.orders.progress(order) != (plan, "approved"):
            await given.wait()
            given.clear()

    async def approve(self, order: str, plan: str) -> bool:
        """Notes an approval, and wakes who waits for it."""
        noted = await self.orders.approve(order, plan)
        if noted and order in self._given:
            self._given[order].set()
        return noted

    def app(self) -> Starlette:
        """The webhook: `POST /approvals` with the order and the plan that the person saw."""

        async def post(request: Request) -> JSONResponse:
            said = await request.json()
            noted = await self.approve(said["order"], said["plan"])
            return JSONResponse({"noted": noted}, 200 if noted else 409)

        return Starlette(routes=[Route("/approvals", post, methods=["POST"])])
