"""Systems in any language, over HTTP: owners, records and tools as a real service, and an adapter that runs a process against it.

`HttpSystem` is the adapter. The service is documented in docs/how-to/any-language.md, and served by hand with `fencecheck serve`.
"""

from __future__ import annotations

try:
    from fencecheck.integrations.http.system import HttpSystem, SystemFailed
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("h11", "httpx", "starlette", "uvicorn"):
        raise
    raise ImportError("fencecheck.integrations.http needs the extra `http`: pip install 'fencecheck[http]'") from error

__all__ = ["HttpSystem", "SystemFailed"]
