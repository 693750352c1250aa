"""One pass over a history: who was served what, what was true when, who replanned. The rules read it; it decides nothing about acts."""

from __future__ import annotations

from typing import Any

from fencecheck.history import Act, Derive, Fetch, Halted, Head, History, Landed, Read, Truth, Validated
from fencecheck.interleaving import Restart
from fencecheck.judge.evidence import lineage


class Replanning:
    """One replan: the derive that began it, the plan that it left, and the agent."""

    __slots__ = ("agent", "at", "left")

    def __init__(self, agent: str, at: int, left: str | None) -> None:
        self.agent, self.at, self.left = agent, at, left


class _Planner:
    """What is remembered of one agent's planning: the record derived last, what validated it since, and the replans so far.

    `asked` are the keys that an owner answered since; whether one of them is in the lineage of the plan is looked up only if it is replanned.
    `replans` are the indices of their derives.
    """

    __slots__ = ("asked", "marked", "plan", "replans")

    def __init__(self) -> None:
        self.plan: str | None = None
        self.asked: list[str] = []
        self.marked = False
        self.replans: list[int] = []

    def forget(self) -> None:
        """No validation so far."""
        self.asked.clear()
        self.marked = False

    def begin(self) -> None:
        """Nor any replan."""
        self.forget()
        self.replans = []


class Timeline:
    """Facts by index into the entries.

    Attributes:
        failed: indices of answers that are failures or malformed, or older than what the agent was served before.
        derived: record id to the index of its derive.
        acts: indices of the calls of a tool.
        planners: the agents that derived anything.
        replans: in order.
        unbounded: each agent that replanned more often than allowed, with the indices of the derives, the one too many last.
        wrote: agent and key to the versions that the agent's own acts committed.
    """

    __slots__ = (
        "_commits", "_history", "_keys", "_lineages", "_planners", "_seen", "acts", "derived", "failed", "most", "planners", "replans",
        "unbounded", "wrote",
    )  # fmt: skip

    def __init__(self, history: History) -> None:
        self._history = history
        self._commits: dict[str, list[tuple[int, str]]] = {}
        self._seen: dict[tuple[str, str], int] = {}
        self._keys: dict[str, frozenset[str]] = {}
        self._lineages: dict[str, tuple[list[str], bool]] = {}
        self._planners: dict[str, _Planner] = {}
        self.failed: set[int] = set()
        self.planners = {entry.agent for entry in history.entries if type(entry) is Derive and not entry.in_event}
        self.derived: dict[str, int] = {}
        self.acts: list[int] = []
        self.replans: list[Replanning] = []
        self.unbounded: list[tuple[str, tuple[int, ...]]] = []
        self.wrote: dict[tuple[str, str], list[str]] = {}
        self.most = max([action.replans for action in history.scenario.actions])
        steps = _STEPS
        for i, entry in enumerate(history.entries):
            kind = type(entry)
            if kind in steps:
                steps[kind](self, i, entry)

    def truth(self, key: str, at: int) -> str | None:
        """The version of `key` that was current just before the entry `at`."""
        commits = self._commits.get(key)
        if commits is not None:
            for i, id in reversed(commits):
                if i < at:
                    return id
        ids = self._history.versions.get(key)
        return ids[0] if ids else None

    def quiet(self, key: str) -> bool:
        """Whether `key` has one version only and no answer or fetch at all failed, so that it was current at every instant."""
        return not self.failed and key not in self._commits and len(self._history.versions.get(key, ())) == 1

    def lineage(self, id: str) -> tuple[list[str], bool]:
        """The lineage of a record and whether it is complete, walked once."""
        found = self._lineages.get(id)
        if found is None:
            found = self._lineages[id] = lineage(self._history.records, id)
        return found

    def _commit(self, i: int, key: str, id: str) -> None:
        self._commits.setdefault(key, []).append((i, id))

    def _held(self, agent: str) -> _Planner | None:
        """The planning that `agent` goes by: its own, or, of an agent that derives nothing, that of the agent that derived last."""
        if agent in self.planners or not self._planners:
            return self._planners.get(agent)
        return self._planners[next(reversed(self._planners))]

    def keys_of(self, id: str) -> frozenset[str]:
        """The keys of all records in the lineage of `id`."""
        keys = self._keys.get(id)
        if keys is None:
            records = self._history.records
            found = [records[i].key for i in self.lineage(id)[0] if i in records]
            keys = self._keys[id] = frozenset([key for key in found if key is not None])
        return keys

    def _validated(self, planner: _Planner) -> bool:
        """Whether the plan was validated since it was derived."""
        if planner.plan is None or planner.marked or not planner.asked:
            return planner.marked and planner.plan is not None
        keys = self.keys_of(planner.plan)
        return any(key in keys for key in planner.asked)

    # -- steps, by kind of entry ------------------------------------------------------------------------------------

    def _answer(self, i: int, entry: Read | Head) -> None:
        if entry.in_event:
            return
        agent, key = entry.agent, entry.key
        planner = self._held(agent)
        if planner is not None:
            planner.asked.append(key)
        if entry.answer != "ok":
            self.failed.add(i)
            return
        ids = self._history.versions.get(key, ())
        if ids and entry.version == ids[0] and (agent, key) not in self._seen:
            return
        version = entry.version
        place = ids.index(version) if version is not None and version in ids else -1
        if place < self._seen.get((agent, key), 0):
            self.failed.add(i)
        else:
            self._seen[agent, key] = place

    def _fetch(self, i: int, entry: Fetch) -> None:
        if entry.answer != "ok" and not entry.in_event:
            self.failed.add(i)

    def _derive(self, i: int, entry: Derive) -> None:
        self.derived[entry.id] = i
        record = self._history.records[entry.id]
        if record.key is not None:
            self._commit(i, record.key, entry.id)
        if entry.in_event:
            return
        planner = self._planners.pop(entry.agent, None) or _Planner()
        if self._validated(planner) and planner.plan not in self.lineage(entry.id)[0]:
            planner.replans.append(i)
            self.replans.append(Replanning(entry.agent, i, planner.plan))
            if len(planner.replans) == self.most + 1:
                self.unbounded.append((entry.agent, tuple(planner.replans)))
        planner.forget()
        planner.plan = entry.id
        self._planners[entry.agent] = planner  # last in order, as it derived last

    def _act(self, i: int, entry: Act) -> None:
        self.acts.append(i)
        planner = self._held(entry.agent)
        if planner is not None:
            planner.begin()
        if entry.wrote:
            action = self._history.scenario.action(entry.action)
            for key, id in zip(action.writes if action else (), entry.wrote, strict=False):
                self._wrote(i, entry.agent, key, id)

    def _wrote(self, i: int, agent: str, key: str, id: str) -> None:
        self._commit(i, key, id)
        ids = self._history.versions.get(key, [])
        self._seen[agent, key] = ids.index(id) if id in ids else -1
        self.wrote.setdefault((agent, key), []).append(id)

    def _mark(self, i: int, entry: Validated) -> None:
        planner = self._held(entry.agent)
        if planner is not None:
            planner.marked = True

    def _halt(self, i: int, entry: Halted) -> None:
        planner = self._held(entry.agent)
        if planner is not None:
            planner.begin()

    def _land(self, i: int, entry: Landed) -> None:
        if not entry.fired:
            return
        what = entry.what
        if type(what) is Restart:
            self._planners.pop(what.agent, None)
        elif entry.version is not None and what.__struct_config__.tag == "update":
            self._commit(i, what.key, entry.version)  # type: ignore[union-attr]

    def _truth(self, i: int, entry: Truth) -> None:
        if entry.by is None:
            self._commit(i, entry.key, entry.version)
        else:
            self._wrote(i, entry.by, entry.key, entry.version)

    def plan_of(self, agent: str) -> str | None:
        """The plan that `agent` goes by at the end."""
        planner = self._held(agent)
        return planner.plan if planner is not None else None


_STEPS: dict[type, Any] = {
    Read: Timeline._answer,
    Head: Timeline._answer,
    Fetch: Timeline._fetch,
    Derive: Timeline._derive,
    Act: Timeline._act,
    Validated: Timeline._mark,
    Halted: Timeline._halt,
    Landed: Timeline._land,
    Truth: Timeline._truth,
}
