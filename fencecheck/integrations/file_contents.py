"""What stands in the files of an episode: texts that are unique for each version, so that a version shows in what is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from fencecheck.errors import BadInput

if TYPE_CHECKING:
    from faker import Faker

VERSIONS = 8
"""Versions of a file whose contents are made up; beyond them a version is one line."""
PLACE = "{text}"
"""Stands in the content of a file for what differs between its versions."""
Files = Mapping[str, str | Sequence[str]]
_COMMENTS = {
    "# {text}": (".py", ".sh", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".rb"),
    "// {text}": (".js", ".jsx", ".ts", ".tsx", ".go", ".rs", ".java", ".kt", ".c", ".h", ".cc", ".cpp", ".cs", ".swift"),
    "-- {text}": (".sql", ".lua", ".hs"),
    "<!-- {text} -->": (".html", ".xml", ".svg"),
    "/* {text} */": (".css",),
}
_NO_COMMENTS = (".json", ".csv", ".tsv")


class Contents(NamedTuple):
    """The versions of one file.

    Args:
        versions: what stands in it, first version first.
        marks: of each version the texts that stand in no other one.
    """

    versions: tuple[str, ...]
    marks: tuple[tuple[str, ...], ...]


def contents_of(path: str, given: str | Sequence[str]) -> Contents:
    """The versions of the file at `path`.

    Args:
        given: the content, in which `{text}` stands for what differs between versions, and without which a line is added that does, as a
            comment where the suffix of the name tells how; nothing for a made-up list of notes; or the content of each version.

    Raises:
        BadInput: it is none of these, or nothing can be added to a file of this kind.
    """
    if isinstance(given, str):
        return _filled(path, given)
    versions = tuple(given)
    if not versions or not all(isinstance(text, str) for text in versions):
        raise BadInput(f"the content of {path!r} is a text, or a list of texts, one for each version, not {given!r}")
    return Contents(versions, tuple(_lines_of_its_own(i, versions) for i in range(len(versions))))


@lru_cache(maxsize=256)
def _filled(path: str, given: str) -> Contents:
    if not given:
        count, frame = 3, f"# {PurePosixPath(path).stem.replace('_', ' ').capitalize()}\n\n- {PLACE}\n- {PLACE}\n- {PLACE}\n"
    else:
        frame = given if PLACE in given else f"{given}{'' if given.endswith(chr(10)) else chr(10)}{_comment(path)}\n"
        count = frame.count(PLACE)
    texts = _notes(path)
    versions: list[str] = []
    marks: list[tuple[str, ...]] = []
    while len(versions) < VERSIONS:
        filled_in = tuple(next(texts) for _ in range(count))
        text = frame
        for mark in filled_in:
            text = text.replace(PLACE, mark, 1)
        if not versions or len(text) != len(versions[-1]):  # a save shows in the size, unless it is meant not to
            versions.append(text)
            marks.append(filled_in)
    return Contents(tuple(versions), tuple(marks))


def _comment(path: str) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _NO_COMMENTS:
        raise BadInput(f"no comment can be added to {path!r} that differs between its versions: let its content hold {PLACE} in some place")
    return next((comment for comment, suffixes in _COMMENTS.items() if suffix in suffixes), PLACE)


def _lines_of_its_own(i: int, versions: tuple[str, ...]) -> tuple[str, ...]:
    lines = dict.fromkeys(line.strip() for line in versions[i].splitlines())
    others = [text for text in versions if text != versions[i]]
    return tuple(line for line in lines if line and not any(line in other for other in others))


def _notes(path: str) -> Iterator[str]:
    """Notes that people write, no one twice."""
    from faker import Faker  # a quarter of a second, which only those pay who generate values

    fake = Faker("en_US", providers=["faker.providers.person", "faker.providers.company"])
    fake.seed_instance(f"files {path}")
    taken: set[str] = set()
    while True:
        text = _note(fake)
        if text not in taken:
            taken.add(text)
            yield text


def _note(fake: Faker) -> str:
    return f"{fake.name()}: {fake.catch_phrase().lower()}"
