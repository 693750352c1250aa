"""Known-bad fences: each gets one step wrong, and is kept with the finding and the exact smallest interleaving that shows it."""

from __future__ import annotations

from fencecheck.mutants.any_key import AnyKey
from fencecheck.mutants.asks_memory import AsksMemory
from fencecheck.mutants.asks_one_owner import AsksOneOwner
from fencecheck.mutants.caches_answers import CachesAnswers
from fencecheck.mutants.compares_numbers import ComparesNumbers
from fencecheck.mutants.compares_the_highest import ComparesTheHighest
from fencecheck.mutants.compares_the_lineage import ComparesTheLineage
from fencecheck.mutants.fail_open import FailOpen
from fencecheck.mutants.first_answer_wins import FirstAnswerWins
from fencecheck.mutants.last_answer_holds import LastAnswerHolds
from fencecheck.mutants.missing_is_current import MissingIsCurrent
from fencecheck.mutants.newest_wins import NewestWins
from fencecheck.mutants.plans_again_after_validating import PlansAgainAfterValidating
from fencecheck.mutants.removed_is_unchanged import RemovedIsUnchanged
from fencecheck.mutants.replans_forever import ReplansForever
from fencecheck.mutants.retries_for_an_answer import RetriesForAnAnswer
from fencecheck.mutants.retries_the_act import RetriesTheAct
from fencecheck.mutants.retries_the_refused import RetriesTheRefused
from fencecheck.mutants.revalidates_the_changed import RevalidatesTheChanged
from fencecheck.mutants.saves_too_early import SavesTooEarly
from fencecheck.mutants.sends_old_arguments import SendsOldArguments
from fencecheck.mutants.short_change_list import ShortChangeList
from fencecheck.mutants.swallows_one_failure import SwallowsOneFailure
from fencecheck.mutants.takes_over import TakesOver
from fencecheck.mutants.two_executors import TwoExecutors
from fencecheck.mutants.validates_before_the_wait import ValidatesBeforeTheWait
from fencecheck.mutants.validates_once import ValidatesOnce
from fencecheck.mutants.validates_the_saved_plan import ValidatesTheSavedPlan
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
        RemovedIsUnchanged,
        ComparesNumbers,
        ComparesTheLineage,
        PlansAgainAfterValidating,
        CachesAnswers,
        LastAnswerHolds,
        RevalidatesTheChanged,
        ComparesTheHighest,
        RetriesTheAct,
        ValidatesTheSavedPlan,
        RetriesForAnAnswer,
        RetriesTheRefused,
        ShortChangeList,
        SavesTooEarly,
    )
}
"""By the name that the command line uses."""
