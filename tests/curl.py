"""The curl commands that people are shown, carried out on machines that have no curl."""

from __future__ import annotations

import shlex

import httpx


def carried_out(command: str) -> httpx.Response:
    """What the server answers to `curl` with the options -sS, -i, -I, -X, -H and -d.

    Raises:
        AssertionError: there is another option.
    """
    words = iter(shlex.split(command))
    assert next(words) == "curl"
    method, url, content = "", "", None
    headers: dict[str, str] = {}
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            name, _, value = next(words).partition(":")
            headers[name.strip()] = value.strip()
        elif word == "-d":
            content = next(words)
        elif word == "-I":
            method = "HEAD"
        elif word.startswith("http"):
            url = word
        else:
            assert word in ("-sS", "-i"), word
    method = method or ("GET" if content is None else "POST")
    return httpx.request(method, url, headers=headers, content=content, timeout=60, trust_env=False)
