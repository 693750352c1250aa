"""Hidden dependencies for a terminal and as JSON: each key with what went out before and after it had another value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from fencecheck import __version__
from fencecheck.measure.dependencies import ActionDependencies, Dependencies, Dependency, Ran, Unused
from fencecheck.measure.dependencies_sent import same, unlike
from fencecheck.report.terminal import prose
from fencecheck.report.words import SHORT, clean, count_of, cut, shown

_NOTHING = "nothing goes out"
_WHOLE = 100_000
_BEFORE = 8
"""Characters that are shown of what two long values have in common, right before they part."""


def dependency_lines(found: Dependencies, width: int) -> list[Text]:
    """All that a terminal is told."""
    lines = prose(
        _headline(found), width, "bold red" if found.exit_status == 1 else "bold yellow" if found.exit_status else "bold green", "", "  "
    )
    for action in found.actions:
        for text in _of_action(action, found):
            lines += prose(text, width, "", "  ", "    ")
        for one in action.undeclared:
            lines += _evidence(one, action.action, width)
    for text in _notes(found):
        lines += prose(text, width, "", "  ", "    ")
    return lines


def _headline(found: Dependencies) -> str:
    undeclared = sum(len(action.undeclared) for action in found.actions)
    if undeclared:
        verdict = "1 real dependency is not declared" if undeclared == 1 else f"{undeclared} real dependencies are not declared"
    elif found.ran_out:
        verdict = "inconclusive: more episodes to run than allowed"
    elif found.never:
        verdict = f"inconclusive: {', '.join(map(clean, found.never))} never went out"
    elif found.untried:
        verdict = f"inconclusive: no other value of {', '.join(map(clean, found.untried))} could be tried"
    elif found.chance:
        verdict = f"inconclusive: it asks chance ({clean(found.chance)}), which may fall otherwise the next time"
    else:
        verdict = "every dependency that was found is declared"
    return f"{clean(found.system)} · {verdict}"


def _of_action(action: ActionDependencies, found: Dependencies) -> Iterator[str]:
    name = clean(action.action)
    yield f"{name} depends on {', '.join(map(_named, action.found)) or 'no key'}"
    if action.idle and action.action not in found.never:
        yield f"declared, and made no difference: {', '.join(map(_idle, action.idle))}"
    declared = [one.keys[0] for one in action.found if one.declared]
    unseen = ", ".join(clean(key) for key in action.unknown if key not in declared)
    if unseen:
        yield f"add to depends_on of {name}: {unseen}; until then no check sees it stale, and no fence can"
    also = ", ".join(clean(key) for key in action.unknown if key in declared)
    if also:
        yield f"add to depends_on of {name} what is declared and real, and not in it: {also}"


def _named(one: Dependency) -> str:
    named = clean(one.keys[0])
    if one.by_version:
        named = f"the version of {named}"
    return named if len(one.keys) == 1 else f"{named} (beside another value of {' and '.join(map(clean, one.keys[1:]))})"


def _idle(one: Unused) -> str:
    looked = f"in {count_of(one.tried, 'other value')}" if one.touched else "never asked about"
    return f"{clean(one.key)} ({looked})"


def _evidence(one: Dependency, action: str, width: int) -> list[Text]:
    """`window = "a"` and what went out then, the same for the other run, and what both found besides."""
    lines = [Text(""), *prose(f"not declared: {_named(one)}", width, "bold")]
    for name, ran, other in (("one run", one.before, one.after), ("the other", one.after, one.before)):
        values = ", ".join(_value(key, ran, other, one) for key in one.keys)
        lines += prose(f"{name}: {values}", width, "", "    ", "      ")
        lines += prose(_went_out(ran, other, action), width, "", "      ", "        ")
    both = [
        f"{clean(key)} = {shown(value)}"
        for key, value in one.before.looked.items()
        if key not in one.keys and key in one.after.looked and key not in one.before.removed
    ]
    return [*lines, *(prose(f"both found {', '.join(both)}", width, "", "    ", "      ") if both else [])]


def _value(key: str, ran: Ran, other: Ran, one: Dependency) -> str:
    named = clean(key)
    if key in ran.removed:
        return f"{named} is removed"
    value = ran.values.get(key, ran.looked.get(key))
    if key not in ran.values and key not in ran.looked:  # the first value, which a run that looks at nothing does not show
        return f"{named} has its first value"
    more = (
        ", made up" if key in ran.made_up else ", in another version" if one.by_version and key == one.keys[0] and key in ran.values else ""
    )
    beside = None if one.by_version or key != one.keys[0] else other.values.get(key, other.looked.get(key))
    return f"{named} = {_unlike(value, beside)}{more}"


def _went_out(ran: Ran, other: Ran, action: str) -> str:
    """The calls that the other run has not, with the arguments that differ."""
    ended = f" ({clean(ran.ended)})" if ran.ended else ""
    if not ran.sent:
        return f"{_NOTHING if not ran.went_out else f'{clean(action)} does not go out'}{ended}"
    mine, others = unlike(ran.sent, other.sent), unlike(other.sent, ran.sent)
    if not mine and not others:
        return f"{', then '.join(map(clean, ran.went_out))}{ended}"
    calls = [f"{clean(action)}({_differing(args, others[at] if at < len(others) else None)})" for at, args in enumerate(mine)]
    alike = len(ran.sent) - len(mine)
    if alike:
        calls.append(f"{count_of(alike, 'call')} as in the other run")
    return f"{', then '.join(calls[: len(mine)])}{' and ' if mine and alike else ''}{''.join(calls[len(mine) :])}{ended}"


def _differing(args: Any, beside: Any) -> str:
    """The arguments that differ from those of the other run; all where there is nothing to compare with."""
    if not isinstance(args, dict):
        return _unlike(args, beside)
    alike = [name for name in args if isinstance(beside, dict) and name in beside and same(args[name], beside[name])]
    others = beside if isinstance(beside, dict) else {}
    told = [f"{clean(str(name))}={_unlike(value, others.get(name))}" for name, value in args.items() if name not in alike]
    return ", ".join([*told, *(["..."] if alike else [])])


def _unlike(value: Any, other: Any) -> str:
    """A value, shortened; of two that begin alike for longer than that, from where they part."""
    text = shown(value)
    if other is None or text != shown(other):
        return text
    whole, beside = shown(value, _WHOLE), shown(other, _WHOLE)
    parted = next((at for at, (one, two) in enumerate(zip(whole, beside, strict=False)) if one != two), min(len(whole), len(beside)))
    return cut("…" + whole[max(parted - _BEFORE, 0) :], SHORT)


def _notes(found: Dependencies) -> Iterator[str]:
    bound = f"up to {found.together} keys at once" if found.together > 1 else "one key at a time"
    values = "1 other value" if found.values == 1 else f"up to {found.values} other values"
    else_ = "" if found.ran_out else ": nothing else was found"
    yield f"{count_of(found.episodes, 'episode')}, {values} of each of {count_of(found.keys, 'key')} from the beginning, {bound}{else_}"
    if found.ran_out:
        yield "not all of them were run: allow more with --episodes, or try fewer --values, or --together 1"
    for key, why in found.untried.items():
        yield f"crashes on a made-up value of {clean(key)} ({clean(why)}), which says nothing: give its values in the scenario, two at least"
    if found.idle:
        yield f"asked about, not declared, and made no difference: {', '.join(map(_idle, found.idle))}"
    yield "what is found is real: each run that shows it came out the same twice"
    outside = f" ({clean(found.outside)})" if found.outside else ""
    yield f"what made no difference made none in these values; what the system asks past its ports{outside} was not changed"


def as_object(found: Dependencies) -> dict[str, Any]:
    """What `--json` writes."""
    return {
        "fencecheck": __version__,
        "system": found.system,
        "keys": found.keys,
        "values": found.values,
        "together": found.together,
        "episodes": found.episodes,
        "ran_out": found.ran_out,
        "untried": found.untried,
        "idle": [_unused_object(one) for one in found.idle],
        "past_its_ports": found.outside,
        "chance": found.chance,
        "actions": [
            {
                "action": action.action,
                "declared": list(action.declared),
                "depends_on": list(action.believed),
                "found": [_dependency_object(one) for one in action.found],
                "undeclared": [one.keys[0] for one in action.undeclared],
                "not_in_depends_on": list(action.unknown),
                "unused": list(action.unused),
                "idle": [_unused_object(one) for one in action.idle],
                "went_out": action.action not in found.never,
            }
            for action in found.actions
        ],
    }


def _unused_object(one: Unused) -> dict[str, Any]:
    return {"key": one.key, "tried": one.tried, "asked_about": one.touched}


def _dependency_object(one: Dependency) -> dict[str, Any]:
    return {
        "key": one.keys[0],
        "beside": list(one.keys[1:]),
        "by_version": one.by_version,
        "declared": one.declared,
        "in_depends_on": one.believed,
        "before": _ran_object(one.before),
        "after": _ran_object(one.after),
    }


def _ran_object(ran: Ran) -> dict[str, Any]:
    return {
        "values": _plain(ran.values),
        "removed": list(ran.removed),
        "made_up": list(ran.made_up),
        "looked_at": _plain(ran.looked),
        "sent": _plain(list(ran.sent)),
        "agents": list(ran.agents),
        "went_out": list(ran.went_out),
        "ended": ran.ended,
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it; what it has not, in words."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, str | int | float | bool) else shown(value)
