"""The audit log: who did what to which study, and when."""

from typing import Any

from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.models import Act, Study


def record(study: Study | None, researcher: Researcher | None, verb: str, detail: dict[str, Any]) -> Act:
    """Write an act into the audit log."""
    return Act.objects.create(study=study, researcher=researcher, verb=verb, detail=detail)
