"""What `explore` is asked to draw, and the command line that asks for the same."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from fencecheck.errors import BadInput
from fencecheck.model import Scenario

Profile = Literal["fencecheck-pr", "fencecheck-nightly"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
Worlds = Literal["default", "large"]
WORLDS: tuple[Worlds, ...] = get_args(Worlds)
EXAMPLES = 1_000
MAX_EVENTS: dict[Worlds, int] = {"default": 8, "large": 12}
"""Most events in an interleaving, unless said otherwise."""
_SEEDS = 2**32


class Drawing(Struct, frozen=True):
    """What `explore` draws.

    Args:
        examples: how many.
        seed: the same seed draws the same examples.
        max_events: most events in one.
        profile: the Hypothesis profile: with `fencecheck-nightly` what failed before is tried first, from Hypothesis's example database.
        worlds: `large` draws the world of each example too.
    """

    examples: int = EXAMPLES
    seed: int = 0
    max_events: int = MAX_EVENTS["default"]
    profile: Profile | None = None
    worlds: Worlds = "default"


def drawing(examples: int | None, seed: int | None, max_events: int | None, profile: Profile | None, worlds: Worlds) -> Drawing:
    """What is to be drawn, with what was not said filled in: a nightly run begins somewhere else each time."""
    if seed is None:
        seed = secrets.randbelow(_SEEDS) if profile == "fencecheck-nightly" else 0
    return Drawing(
        EXAMPLES if examples is None else examples, seed, MAX_EVENTS[worlds] if max_events is None else max_events, profile, worlds
    )


def refuse_unknown(
    engine: str, profile: str | None, worlds: str, scenario: Scenario | None, examples: int | None = None, seed: int | None = None
) -> None:
    """Says what of a drawing cannot be asked for.

    Raises:
        BadInput: there is no such profile or choice of worlds, or it is not for this engine, or the world is both given and drawn.
    """
    if profile is not None and profile not in PROFILES:
        raise BadInput(f"there is no profile {profile!r}: use {', '.join(PROFILES)}")
    if worlds not in WORLDS:
        raise BadInput(f"there are no worlds {worlds!r}: use {', '.join(WORLDS)}")
    if engine != "explore" and (profile is not None or worlds != "default"):
        raise BadInput("a profile and large worlds are for what is drawn: use the engine explore")
    if engine != "explore" and (examples is not None or seed is not None):
        what = "a number of examples" if examples is not None else "a seed"
        raise BadInput(f"{what} is for what is drawn, and {engine} runs every interleaving: use the engine explore")
    if worlds != "default" and scenario is not None:
        raise BadInput("a world is given or drawn: leave out large worlds, or what says how large it is")


def command(system: str, asked: Drawing, options: Iterable[tuple[str, str | None]]) -> str:
    """The command line that draws the same.

    Args:
        system: how another process loads it.
        options: further options, each with its value; those without one are left out.
    """
    words = ["fencecheck", "check", _from_here(system), "--engine", "explore", "--seed", str(asked.seed)]
    own = (
        ("--profile", asked.profile),
        ("--examples", None if asked.examples == EXAMPLES else str(asked.examples)),
        ("--worlds", None if asked.worlds == "default" else asked.worlds),
        ("--max-events", None if asked.max_events == MAX_EVENTS[asked.worlds] else str(asked.max_events)),
    )
    for option, value in (*own, *options):
        words += [] if value is None else [option, value]
    return shlex.join(words)


def _from_here(system: str) -> str:
    """A file by its path from the working directory, where it is inside: on another machine it stands elsewhere."""
    where, colon, attribute = system.rpartition(":")
    file = Path(where)
    inside = where.endswith(".py") and file.is_relative_to(Path.cwd())
    return f"{file.relative_to(Path.cwd()).as_posix()}{colon}{attribute}" if inside else system


def sizes_of(scenario: Scenario | None) -> list[tuple[str, str | None]] | None:
    """The options that ask for that world, none for the default one; None where no options do."""
    if scenario is None:
        return []
    from fencecheck.worlds import MAX_KEYS, world

    keys, declared = len(scenario.keys), len(scenario.actions[0].depends_on)
    if not 1 <= declared <= keys <= MAX_KEYS or world(keys=keys, declared=declared, depth=scenario.depth, owners=min(2, keys)) != scenario:
        return None
    return [("--keys", str(keys)), ("--declared", str(declared)), ("--depth", str(scenario.depth))]
