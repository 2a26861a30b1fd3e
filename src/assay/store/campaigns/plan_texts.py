"""Read the plans of a repository's campaigns as they were executed.

In: a repository's folder of campaigns. Out: each campaign's plan with its text, newest first. Reads only.
"""

from dataclasses import dataclass
from pathlib import Path

from assay.store.campaigns.journal import CLUSTER_TEXT
from assay.store.campaigns.status import campaign_folders, status_of

CAMPAIGNS_MAX = 200
"""Maximum number of campaigns whose plans are read."""
TEXT_BYTES_MAX = 1_000_000
"""Maximum number of bytes read from a plan's file."""


@dataclass(frozen=True, slots=True)
class PlanText:
    """One campaign's plan."""

    plan: str
    campaign_id: str
    text: str
    """Content of the plan file, as YAML."""


def plan_texts(campaigns: Path) -> list[PlanText]:
    """Return the plans, at most :data:`CAMPAIGNS_MAX`; unreadable plans are left out."""
    texts = []
    for folder in campaign_folders(campaigns)[::-1][:CAMPAIGNS_MAX]:
        try:
            with (folder / "plan.yaml").open("rb") as file:
                text = file.read(TEXT_BYTES_MAX).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        texts.append(PlanText(status_of(folder, 0.0).plan, folder.name, text))
    return texts


def plan_text(campaigns: Path, campaign_id: str) -> str:
    """Return the text of a campaign's plan; empty if none was stored."""
    return _text(campaigns / campaign_id / "plan.yaml")


def cluster_text(campaigns: Path, campaign_id: str) -> str:
    """Return the text of a campaign's cluster file; empty if none was stored."""
    return _text(campaigns / campaign_id / CLUSTER_TEXT)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
