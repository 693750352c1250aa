"""Both judges on one history."""

from __future__ import annotations

from typing import Any

from fencecheck.history import History

from .slow_judge import SlowVerdict, slow_judge


def fast_verdict(history: History) -> SlowVerdict:
    """What the fast judge says, in the form of the slow one."""
    from fencecheck.judge import judge

    judgement = judge(history)
    found = [(finding.code, finding.at, finding.key) for finding in judgement.findings]
    assert len(found) == len(set(found)), f"a finding is listed twice: {found}"
    counts: dict[str, Any] = {name: getattr(judgement, name) for name in judgement.__struct_fields__ if name != "findings"}
    return SlowVerdict({one: finding.evidence for one, finding in zip(found, judgement.findings, strict=True)}, counts)


def judged(history: History) -> SlowVerdict:
    """The verdict on which both judges agree."""
    slow, fast = slow_judge(history), fast_verdict(history)
    assert fast.evidence == slow.evidence
    assert fast.counts == slow.counts
    return slow


def found(history: History) -> set[str]:
    """The findings on which both judges agree, as `code` or `code key`."""
    return {f"{code} {key}" if key is not None else code for code, _, key in judged(history).findings}
