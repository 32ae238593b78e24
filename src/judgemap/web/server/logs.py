"""What the server logs: one line each, or JSON for programs, with no addresses, links or codes in either."""

import json
import logging
import re
import time
from datetime import UTC, datetime

from judgemap.web.server.database import is_outage

SECONDS_BETWEEN_OUTAGES = 30.0
HIDDEN = "…"
SECRETS = (
    (re.compile(r"/(j|s|r|first|invitation)/[^/\s'\"?]+"), rf"/\1/{HIDDEN}"),
    (re.compile(r"\bjm_[\w-]+"), HIDDEN),
    (re.compile(r"\b(?:[A-Z2-7]{4}-){3}[A-Z2-7]{4}\b"), HIDDEN),
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), HIDDEN),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b"), HIDDEN),
    (re.compile(r"\b(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}\b|\b(?:[0-9a-fA-F]{1,4}:)+:[0-9a-fA-F:]*"), HIDDEN),
)
"""Links, API tokens, withdrawal codes, email addresses and IP addresses."""
TOKEN = re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])")
"""What a link's token looks like by itself, as it may appear in an error message."""
NAME = re.compile(r"_*[a-z]+(_[a-z]+)*|[A-Z]+(_[A-Z]+)*|([A-Z][a-z]+)+")
"""What names in programs look like; fewer than one in a million random tokens does."""


def scrub(text: str) -> str:
    """Hide whatever could identify a person or let somebody in.

    >>> scrub("Not Found: /j/dGhlIHRva2Vu/answer from 192.0.2.7 for anna@example.org")
    'Not Found: /j/…/answer from … for …'
    >>> scrub("MultiValueDictKeyError: no judge has 'q83vASNFZ4mrze8BI0VniQ'")
    "MultiValueDictKeyError: no judge has '…'"
    """
    for pattern, instead in SECRETS:
        text = pattern.sub(instead, text)
    return TOKEN.sub(lambda found: found[0] if NAME.fullmatch(found[0]) else HIDDEN, text)


class Lines(logging.Formatter):
    """A line for people, with the traceback below it if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the record, traceback and all, without secrets."""
        return scrub(super().format(record))


class JsonLines(logging.Formatter):
    """One JSON object per line, for programs that collect logs."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the record as JSON, without secrets.

        >>> record = logging.LogRecord("web", logging.ERROR, "", 1, "broken: %s", ("/j/dGhlIHRva2Vu/",), None)
        >>> sorted(json.loads(JsonLines().format(record)))
        ['level', 'logger', 'message', 'process', 'time']
        """
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": scrub(record.getMessage()),
        }
        if record.exc_info:
            line["traceback"] = scrub(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class OneLineForOutages(logging.Filter):
    """While the database does not answer, let one line through every half minute, without a traceback."""

    _told_at = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten a record about an outage, or hold it back."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None or not is_outage(error):
            return True
        if (now := time.monotonic()) - self._told_at < SECONDS_BETWEEN_OUTAGES:
            return False
        self._told_at = now
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        record.msg = "the database cannot be used (%s); answers are refused with status 503 until it can"
        record.args, record.exc_info, record.exc_text = (first,), None, None
        return True
