"""What other apps may hear of judges."""

from django.dispatch import Signal

judge_withdraws = Signal()
"""Sent with ``judge`` in the withdrawal's transaction, before the answers are removed, so that fits can drop them."""
