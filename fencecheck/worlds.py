"""Generated scenarios: any number of keys, owners and generations, with realistic values.

The three families are those of the paper that fencecheck follows ("Fresh Memory, Stale Plans", section 5): booking, delivery and
deployment. A value is unique in its whole scenario and no part of another one, so that the version that went out can be recognised in
the arguments of a tool call. The same arguments give the same scenario in every process: values come from a Faker of their own, seeded
with (family, seed, key), and neither Faker's nor `random`'s global state is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from fencecheck.errors import BadInput
from fencecheck.model import Action, Scenario

if TYPE_CHECKING:
    from faker import Faker

Family = Literal["delivery", "booking", "deployment"]
FAMILIES: tuple[Family, ...] = get_args(Family)
MAX_KEYS = 16
MAX_DEPTH = 64
MAX_EXECUTORS = 16
MAX_VERSIONS = 100

Text = Callable[["Faker"], str]


class _Family(NamedTuple):
    """What a family calls its action, its owners and its keys, and how the values of a key read."""

    action: str
    subject: str
    owners: tuple[str, ...]
    texts: dict[str, Text]


def world(
    *,
    keys: int = 4,
    declared: int = 2,
    depth: int = 2,
    owners: int = 2,
    family: Family = "delivery",
    seed: int = 0,
    versions: int = 8,
    executors: int = 1,
) -> Scenario:
    """A scenario of the given size, with realistic names and values.

    Args:
        keys: number of keys, 1 to 16. They are dealt to the owners in turn, so that with two owners or more the first two declared
            keys have different owners.
        declared: number of keys on which the one action depends; the first ones.
        depth: generations between a plan and the versions that it rests on, 1 to 64.
        owners: number of owners, at most one for each key.
        family: delivery (its action is `deliver`), booking (`book`) or deployment (`deploy`).
        seed: another seed gives other values, and the same names.
        versions: number of values that each key has, 1 to 100; the first one is its version at the start.
        executors: number of agents, and of tasks for which a plan can be asked, 1 to 16. A system that runs executors side by side starts one
            for each name in `kit.scenario.agents`; to others it makes no difference.

    Raises:
        BadInput: an argument is out of its range.
    """
    _check_family(family)
    _check_number("keys", keys, 1, MAX_KEYS)
    _check_number("declared", declared, 1, keys)
    _check_number("depth", depth, 1, MAX_DEPTH)
    _check_number("owners", owners, 1, keys)
    _check_number("versions", versions, 1, MAX_VERSIONS)
    _check_number("executors", executors, 1, MAX_EXECUTORS)
    _check_seed(seed)
    return _world(keys, declared, depth, owners, family, seed, versions, executors)


def keys_of(family: Family, count: int) -> tuple[str, ...]:
    """The first `count` keys of a family, such as `order/42/requirement`; beyond the named ones `order/42/note-5` and so on.

    Raises:
        BadInput: there is no such family, or `count` is not 1 to 16.
    """
    _check_family(family)
    _check_number("keys", count, 1, MAX_KEYS)
    about = _FAMILIES[family]
    names = list(about.texts)[:count]
    names += [f"note-{number}" for number in range(len(names) + 1, count + 1)]
    return tuple(f"{about.subject}/{name}" for name in names)


def text_for(family: Family, key: str, *, seed: int = 0) -> str:
    """One realistic value of `key`: an address, a time window, a fare. A key that the family does not name gets a note.

    Raises:
        BadInput: there is no such family, or the seed is not a whole number.
    """
    _check_family(family)
    _check_seed(seed)
    return next(_texts(family, key, seed))


@lru_cache(maxsize=256)
def _world(keys: int, declared: int, depth: int, owners: int, family: Family, seed: int, versions: int, executors: int) -> Scenario:
    about, names = _FAMILIES[family], keys_of(family, keys)
    known = [*about.owners, *(f"owner-{number}" for number in range(len(about.owners) + 1, owners + 1))]
    return Scenario(
        owners={owner: names[i::owners] for i, owner in enumerate(known[:owners])},
        actions=[Action(about.action, depends_on=names[:declared])],
        values=dict(zip(names, _values(family, seed, versions, keys), strict=True)),
        agents=_numbered("agent", executors),
        tasks=_numbered("task", executors),
        depth=depth,
    )


def _numbered(name: str, count: int) -> tuple[str, ...]:
    """`agent`, `agent-2`, `agent-3`."""
    return (name, *(f"{name}-{number}" for number in range(2, count + 1)))


@lru_cache(maxsize=256)
def _values(family: Family, seed: int, versions: int, keys: int) -> tuple[tuple[str, ...], ...]:
    """The values of the first `keys` keys. More keys change nothing for the first ones, so worlds of all sizes share theirs."""
    if not keys:
        return ()
    before = _values(family, seed, versions, keys - 1)
    key = keys_of(family, keys)[-1]
    return (*before, _distinct(_texts(family, key, seed), versions, [text for texts in before for text in texts]))


def _distinct(texts: Iterator[str], count: int, taken: list[str]) -> tuple[str, ...]:
    """The first `count` texts that neither hold another one, be it of `taken`, nor are held by one."""
    found: list[str] = []
    while len(found) < count:
        text = next(texts)
        if not any(text in other or other in text for other in (*taken, *found)):
            found.append(text)
    return tuple(found)


_PROVIDERS = [f"faker.providers.{name}" for name in ("address", "company", "misc", "person", "phone_number")]


def _texts(family: Family, key: str, seed: int) -> Iterator[str]:
    from faker import Faker  # a quarter of a second, which only those pay who generate values

    fake = Faker("en_US", providers=_PROVIDERS)
    fake.seed_instance(f"{family} {seed} {key}")  # a text is seeded through SHA-512, not through hash()
    text = _FAMILIES[family].texts.get(key.rpartition("/")[2], _note)
    while True:
        yield text(fake)


def _address(fake: Faker) -> str:
    return f"{fake.building_number()} {fake.street_name()}, {fake.city()}"


def _day(fake: Faker) -> date:
    return date(2027, 1, 1) + timedelta(days=fake.random_int(0, 1460))


def _window(fake: Faker) -> str:
    hour, minute = fake.random_int(6, 19), fake.random_element(("00", "15", "30", "45"))
    return f"{_day(fake)} {hour:02}:{minute} to {hour + 2:02}:{minute}"


def _contact(fake: Faker) -> str:
    return f"{fake.name()}, {fake.phone_number()}"


def _payment(fake: Faker) -> str:
    return f"authorisation {fake.bothify('??####', letters='ABCDEFGHJKLMNPQRSTUVWXYZ')}, {_price(fake)}"


def _price(fake: Faker) -> str:
    return f"{fake.random_int(20, 899)}.{fake.random_int(0, 99):02} EUR"


def _journey(fake: Faker) -> str:
    return f"{fake.random_int(2, 6)} seats, {fake.city()} to {fake.city()}, {_day(fake)}"


def _fare(fake: Faker) -> str:
    return f"fare {fake.bothify('?##?##', letters='BCDFGHJKLMNPQRSTVWXZ')}, {_price(fake)}"


def _hotel(fake: Faker) -> str:
    return f"{fake.last_name()} Hotel, {_address(fake)}"


def _artifact(fake: Faker) -> str:
    return f"orders-api {fake.random_int(1, 9)}.{fake.random_int(0, 40)}.{fake.random_int(0, 20)}, commit {fake.sha1()[:12]}"


def _config(fake: Faker) -> str:
    return f"replicas={fake.random_int(2, 24)} memory_mib={fake.random_int(2, 64) * 128} revision={fake.sha1()[:10]}"


def _approval(fake: Faker) -> str:
    return f"change {fake.bothify('CHG-######')}, approved by {fake.name()}"


def _note(fake: Faker) -> str:
    return f"note by {fake.name()}: {fake.catch_phrase().lower()}"


_FAMILIES: dict[Family, _Family] = {
    "delivery": _Family(
        action="deliver",
        subject="order/42",
        owners=("orders", "calendar", "customers", "payments"),
        texts={"requirement": _address, "window": _window, "contact": _contact, "payment": _payment},
    ),
    "booking": _Family(
        action="book",
        subject="trip/7",
        owners=("trips", "fares", "hotels", "travellers"),
        texts={"requirement": _journey, "fare": _fare, "hotel": _hotel, "traveller": _contact},
    ),
    "deployment": _Family(
        action="deploy",
        subject="release/9",
        owners=("releases", "configuration", "approvals", "schedule"),
        texts={"requirement": _artifact, "config": _config, "approval": _approval, "window": _window},
    ),
}


def _check_family(family: str) -> None:
    if family not in FAMILIES:
        raise BadInput(f"there is no family {family!r}: use {', '.join(FAMILIES)}")


def _check_number(name: str, number: int, low: int, high: int) -> None:
    if not _is_whole(number) or not low <= number <= high:
        raise BadInput(f"{name} must be a whole number from {low} to {high}, not {number!r}")


def _check_seed(seed: int) -> None:
    if not _is_whole(seed):
        raise BadInput(f"seed must be a whole number, not {seed!r}")


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
