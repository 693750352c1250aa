"""Systems in any language, over HTTP: owners, records and tools as a real service, and an adapter that runs a process against it.

`HttpSystem` is the adapter. The service is documented in docs/how-to/any-language.md, and served by hand with `fencecheck serve`.
"""

from __future__ import annotations

from fencecheck.integrations.http.system import HttpSystem

__all__ = ["HttpSystem"]
