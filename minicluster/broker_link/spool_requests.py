"""Requests about the spools of stand-ins, which are answered beside the lead: see `stand_in.topics`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.broker_link.errors import Refused, refusal_of

if TYPE_CHECKING:
    from minicluster.broker_link.link import JSON, BrokerLink

PREFIX = "helper.stand-in-"


def answer(link: BrokerLink, topic: str, payload: JSON) -> JSON:
    """Answer one. Raises Refused, InstanceGone, and what `topics.answer` raises for what is malformed."""
    # Only a burst service asks, and relays start light.
    from minicluster.stand_in import topics  # noqa: PLC0415
    from minicluster.stand_in.errors import SpoolError  # noqa: PLC0415

    def attribute(name: str) -> str:
        try:
            return str(link.rpc("attr.get", {"name": name})["value"])
        except Refused:
            return ""

    try:
        return topics.answer(attribute, topic, payload)
    except SpoolError as error:
        raise refusal_of(topic, error.errnum, error.text) from error
