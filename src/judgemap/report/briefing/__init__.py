"""The briefing: what a decision maker reads. A front page that stands alone, then what lies behind it."""

from judgemap.report.briefing.about import About, read_about
from judgemap.report.briefing.document import briefing

__all__ = ["About", "briefing", "read_about"]
