"""Hidden dependencies for a terminal and as JSON: each key with what went out before and after it had another value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from fencecheck import __version__
from fencecheck.measure.dependencies import ActionDependencies, Dependencies, Dependency, Ran
from fencecheck.report.terminal import prose
from fencecheck.report.words import clean, count_of, shown

_NOTHING = "nothing goes out"


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
        verdict = f"inconclusive: {', '.join(found.never)} never went out"
    else:
        verdict = "every dependency that was found is declared"
    return f"{clean(found.system)} · {verdict}"


def _of_action(action: ActionDependencies, found: Dependencies) -> Iterator[str]:
    of = ", ".join(clean(_named(one)) for one in action.found) or "no key"
    yield f"{clean(action.action)} depends on {of}"
    unused = ", ".join(map(clean, action.unused))
    if unused and action.action not in found.never:
        yield f"declared, and made no difference: {unused}"
    unknown = [one.keys[0] for one in action.undeclared if one.keys[0] not in action.believed]
    if unknown:
        yield (
            f"add to depends_on of {clean(action.action)}: {', '.join(map(clean, unknown))}; until then no check sees it stale, and no fence can"
        )


def _named(one: Dependency) -> str:
    return one.keys[0] if len(one.keys) == 1 else f"{one.keys[0]} (beside another value of {' and '.join(one.keys[1:])})"


def _evidence(one: Dependency, action: str, width: int) -> list[Text]:
    """`window: "a" -> "b"`, and what went out in both runs, the arguments that differ only."""
    key = one.keys[0]
    lines = [Text(""), *prose(f"not declared: {clean(_named(one))}", width, "bold")]
    for name, ran in (("one run", one.before), ("the other", one.after)):
        others = "".join(f", {clean(other)} = {shown(ran.values[other])}" for other in one.keys[1:])
        value = shown(ran.values[key]) if key in ran.values else shown(ran.looked[key]) if key in ran.looked else "its first value"
        lines += prose(f"{name}: {clean(key)} = {value}{others}", width, "", "    ", "      ")
        lines += prose(_went_out(ran, one.before if ran is one.after else one.after, action), width, "", "      ", "        ")
    return lines


def _went_out(ran: Ran, other: Ran, action: str) -> str:
    if not ran.sent:
        return f"{_NOTHING}{f' ({clean(ran.ended)})' if ran.ended else ''}"
    calls = []
    for number, args in enumerate(ran.sent):
        beside = other.sent[number] if number < len(other.sent) else None
        calls.append(f"{clean(action)}({_differing(args, beside)})")
    return ", then ".join(calls)


def _differing(args: Any, beside: Any) -> str:
    """The arguments that differ from those of the other run; all where there is nothing to compare with."""
    if not isinstance(args, dict):
        return shown(args)
    differing = {name: value for name, value in args.items() if not isinstance(beside, dict) or name not in beside or beside[name] != value}
    told = ", ".join(f"{clean(str(name))}={shown(value)}" for name, value in differing.items())
    return f"{told}{', ...' if len(differing) < len(args) and told else '...' if len(differing) < len(args) else ''}"


def _notes(found: Dependencies) -> Iterator[str]:
    bound = f"up to {found.together} keys at once" if found.together > 1 else "one key at a time"
    values = "1 other value" if found.values == 1 else f"{found.values} other values"
    yield f"{count_of(found.episodes, 'episode')}: {values} of each of {count_of(found.keys, 'key')}, {bound}, from the beginning of the episode"
    if found.ran_out:
        yield "not all of them were run: allow more with --episodes, or try fewer --values, or --together 1"
    yield "what is found is real; what made no difference made none in these values, and what the system asks past its ports was not changed"


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
        "actions": [
            {
                "action": action.action,
                "declared": list(action.declared),
                "depends_on": list(action.believed),
                "found": [_dependency_object(one) for one in action.found],
                "undeclared": [one.keys[0] for one in action.undeclared],
                "unused": list(action.unused),
                "went_out": action.action not in found.never,
            }
            for action in found.actions
        ],
    }


def _dependency_object(one: Dependency) -> dict[str, Any]:
    return {"key": one.keys[0], "beside": list(one.keys[1:]), "before": _ran_object(one.before), "after": _ran_object(one.after)}


def _ran_object(ran: Ran) -> dict[str, Any]:
    return {"values": _plain(ran.values), "looked_at": _plain(ran.looked), "sent": _plain(list(ran.sent)), "ended": ran.ended}


def _plain(value: Any) -> Any:
    """A value as JSON has it; what it has not, in words."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, str | int | float | bool) else shown(value)
