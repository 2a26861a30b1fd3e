"""Remove addresses, logins, paths of hosts and secrets from the plans and cluster files of bundles. Pure.

In: the text of a plan or a cluster file. Out: the text of a file that describes the same runs or hardware, in JSON,
which is also YAML. The file can be simulated. A cluster of real hosts gets ``provider: simulated``, because the file
has no addresses of hosts.
"""

import json
import re

from assay.model import Plan
from assay.model.runs.environment import entries_of
from assay.specs.document import Value, document_of

CLUSTER_FILE = "cluster.yaml"
PLAN_FILE = "plan.yaml"
_HOST_KEYS = ("ssh", "attached", "home", "java_home", "hadoop_home", "local")
_SECRET = re.compile(
    r"passw|passphrase|secret|token|credential|(access|account|private|session|encryption|sas)[._-]?key", re.IGNORECASE
)
"""Pattern of the names of parameters whose values are secrets."""


def redacted_cluster(text: str) -> str:
    """Return a cluster file without addresses, logins and paths. Raises SpecificationError for invalid ``text``."""
    content = dict(document_of(text.encode(), CLUSTER_FILE).content)
    if "lab" not in content:
        content["provider"] = "simulated"
    for key in _HOST_KEYS:
        content.pop(key, None)
    nodes: dict[str, Value] = {}
    for name, group in entries_of(content.get("nodes")).items():
        redacted_group = dict(entries_of(group))
        addresses = redacted_group.pop("addresses", None)
        if isinstance(addresses, list) and len(addresses) > 1:
            redacted_group["count"] = str(len(addresses))
        if redacted_group.get("roles"):  # an edge node runs no daemons of the cluster
            nodes[name] = redacted_group
    content["nodes"] = nodes
    content["node_types"] = {
        name: _without_directories(node_type) for name, node_type in entries_of(content["node_types"]).items()
    }
    content["networks"] = {
        name: {key: value for key, value in network.items() if key != "addresses"}
        if isinstance(network, dict)
        else network
        for name, network in entries_of(content.get("networks")).items()
    }
    return f"{json.dumps(content, indent=1)}\n"


def redacted_plan(text: str) -> str:
    """Return a plan without secret parameters and without the path of its cluster file.

    Raises SpecificationError for invalid ``text``.
    """
    content = _without_secrets(document_of(text.encode(), PLAN_FILE).content)
    assert isinstance(content, dict)
    return f"{json.dumps({**content, 'cluster': CLUSTER_FILE}, indent=1)}\n"


def files_of_bundles(plan: Plan) -> dict[str, bytes]:
    """Return the files to store in each bundle of the plan: the plan and its cluster file, without private values."""
    texts = {PLAN_FILE: (plan.source, redacted_plan), CLUSTER_FILE: (plan.cluster_source, redacted_cluster)}
    return {name: redact(text).encode() for name, (text, redact) in texts.items() if text}


def _without_directories(node_type: Value) -> Value:
    redacted_type = dict(entries_of(node_type))
    redacted_type["devices"] = {
        name: {key: value for key, value in entries_of(device).items() if key != "directories"}
        for name, device in entries_of(redacted_type.get("devices")).items()
    }
    return redacted_type


def _without_secrets(value: Value) -> Value:
    if isinstance(value, dict):
        return {key: _without_secrets(part) for key, part in value.items() if not _SECRET.search(key)}
    return [_without_secrets(part) for part in value] if isinstance(value, list) else value
