"""Metadata synchronised at every update: no commit is done before every agent knows of it, so that validation asks nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from fencecheck.model import Record
from fencecheck.run.kit import Kit
from fencecheck.systems.central import Central
from fencecheck.systems.planner import TIMEOUT_S


class EagerSync(Central):
    """Compares a plan with the agent's own copy of the metadata, which each commit brings up to date before it is done.

    The asking is done early, at each update and by the owner: with few updates and many acts that wins, with many it costs more than asking (the
    paper's Table 1). It assumes what asking does not: that a commit waits for every agent. Where one can be missed, this is a fence that looks
    into its own memory (`asks-memory` among the mutants).
    """

    name = "eager-sync"
    cannot_happen = {"deliver": "the metadata arrives with the update itself"}

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.store: dict[str, list[Record]] = {}
        self.metadata: dict[str, str] = {}

    def publish(self, key: str, value: Any) -> str:
        """An owner commits a version, and waits until the agent's metadata has it."""
        return self._commit(key, value, removed=False)

    def remove(self, key: str) -> str:
        """An owner commits that the key is gone."""
        return self._commit(key, None, removed=True)

    def true_head(self, key: str) -> str | None:
        """The version that is really current."""
        versions = self.store.get(key)
        return versions[-1].id if versions else None

    def _commit(self, key: str, value: Any, *, removed: bool) -> str:
        versions = self.store.setdefault(key, [])
        versions.append(Record(f"{key}#{len(versions) + 1}", key, value, removed=removed))
        self.metadata[key] = versions[-1].id
        return versions[-1].id

    def read(self, keys: Iterable[str]) -> dict[str, Record]:
        """The current records, from their owners."""
        return {key: self.kit.read(key, timeout=TIMEOUT_S, via=partial(self._newest, key)) for key in keys}

    def _newest(self, key: str) -> Record:
        return self.store[key][-1]

    def changed(self, plan: Record) -> dict[str, str]:
        """The declared keys of which the metadata names another version than the ledger: one look, at one instant, at a table of its own."""
        self.kit.point("own metadata")
        basis = self.ledger[plan.id]
        return {key: self.metadata[key] for key in self.declared() if self.metadata[key] != basis.get(key)}

    def fetch_changed(self, heads: Mapping[str, Any]) -> dict[str, Record]:
        """The records of the changed keys, from their owners."""
        return self.read(heads)
