"""Known-bad fences: each gets one step wrong, and is kept with the finding and the exact smallest interleaving that shows it."""

from __future__ import annotations

from fencecheck.mutants.any_key import AnyKey
from fencecheck.mutants.asks_memory import AsksMemory
from fencecheck.mutants.asks_one_owner import AsksOneOwner
from fencecheck.mutants.fail_open import FailOpen
from fencecheck.mutants.first_answer_wins import FirstAnswerWins
from fencecheck.mutants.missing_is_current import MissingIsCurrent
from fencecheck.mutants.newest_wins import NewestWins
from fencecheck.mutants.replans_forever import ReplansForever
from fencecheck.mutants.sends_old_arguments import SendsOldArguments
from fencecheck.mutants.swallows_one_failure import SwallowsOneFailure
from fencecheck.mutants.takes_over import TakesOver
from fencecheck.mutants.two_executors import TwoExecutors
from fencecheck.mutants.validates_before_the_wait import ValidatesBeforeTheWait
from fencecheck.mutants.validates_once import ValidatesOnce
from fencecheck.mutants.wrong_key import WrongKey
from fencecheck.run.adapter import AgentSystem

ALL: dict[str, type[AgentSystem]] = {
    system.name: system
    for system in (
        FailOpen,
        MissingIsCurrent,
        ValidatesOnce,
        ReplansForever,
        AnyKey,
        AsksOneOwner,
        AsksMemory,
        SendsOldArguments,
        NewestWins,
        ValidatesBeforeTheWait,
        FirstAnswerWins,
        SwallowsOneFailure,
        WrongKey,
        TwoExecutors,
        TakesOver,
    )
}
"""By the name that the command line uses."""
