"""Show the page that chooses instance types by hardware and price, and leads to a size, a recommendation or a what-if.

The address contains the filters, the chosen types and their facts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.web.state.answering import page_of
from assay.interfaces.web.state.context import READERS, Context, ContextOf
from assay.model import DeviceKind
from assay.model.clusters.price_book import EXTRAS
from assay.questions.recommendation.catalogues import stored_catalogues
from assay.questions.recommendation.instance_choice import (
    TYPES_MAX,
    InstanceChoice,
    InstanceChoiceRequest,
    choose_instances,
    known_prices,
)
from assay.questions.recommendation.instances import ASSUMED_ARCHITECTURE, ASSUMED_SPEED, InstanceRequest
from assay.questions.recommendation.request import WORKLOADS
from assay.specs.instances import ARCHITECTURES
from assay.text import disk_noun

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)
_FIELD_LENGTH_MAX = 60
_PRICE_PREFIX = "price-"
_SPEED_FIELDS = {name: f"speed-{name}" for name in ARCHITECTURES}
_RATE_FIELDS = {str(kind): f"rates-{kind}" for kind in DeviceKind}
_EXTRA_PRICE_FIELDS = {name: f"{name}_price" for name in EXTRAS}
_VOLUMES = "gp3:1TB:4"
"""Prefilled network volumes of types for which no rate of local disks is stated."""
_DISK_CHOICES = (*_RATE_FIELDS, "none")


@router.get("/instances")
def instances(request: Request, context: ContextOf) -> Response:
    """Show the filters, the matching types, and links to questions about the chosen types."""
    return page_of(request, "instances", **_values(context, parse_qs(request.url.query)))


def _values(context: Context, form: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the values for the page's template."""
    texts = {name: values[-1].strip()[:_FIELD_LENGTH_MAX] for name, values in form.items() if values}
    texts.setdefault("count", InstanceChoiceRequest().count)
    texts.setdefault("date", f"{datetime.now(UTC):%Y-%m-%d}")
    texts.setdefault(_SPEED_FIELDS[ASSUMED_ARCHITECTURE], ASSUMED_SPEED)
    if not any(texts.get(field) for field in _RATE_FIELDS.values()):
        texts.setdefault("volumes", _VOLUMES)
    values: dict[str, Any] = {
        "assumed_architecture": ASSUMED_ARCHITECTURE,
        "fields": defaultdict(str, texts),
        "speed_fields": _SPEED_FIELDS,
        "rate_fields": _RATE_FIELDS,
        "disk_kinds": _DISK_CHOICES,
        "disk_noun": disk_noun,
    }
    prices = known_prices(stored_catalogues(context.cluster_folders, with_examples=False).values())
    values |= {"architectures": ARCHITECTURES, "choice": None, "problem": None, "links": (), "whatif": ()}
    values["has_prices"] = bool(prices)
    try:
        request = _request_of(form, texts)
        choice = choose_instances(request, prices)
    except AssayError as error:
        return {**values, "problem": error}
    problem = choice.problem
    if problem is not None and (problem.where or "").startswith("--"):  # an option of the command is a field here
        problem = SpecificationError(problem.message, hint="fill in the field of the chosen types as in its example")
    return {**values, "choice": choice, "problem": problem, **_links(request, choice, texts.get("extra_costs", ""))}


def _request_of(form: Mapping[str, Sequence[str]], texts: Mapping[str, str]) -> InstanceChoiceRequest:
    """Return the request of an address. Raises SpecificationError for a value that is none of the choices."""
    vcpus = texts.get("vcpus", "")
    if vcpus and not (vcpus.isascii() and vcpus.isdecimal()):
        raise SpecificationError(f"{vcpus[:20]!r} is not a number of vCPUs", where="vcpus")
    for name, choices in (("architecture", ARCHITECTURES), ("disks", _DISK_CHOICES)):
        if texts.get(name) and texts[name] not in choices:
            raise SpecificationError(f"{texts[name][:20]!r} is none of {', '.join(choices)}", where=name)
    return InstanceChoiceRequest(
        filters=InstanceRequest(
            pattern=texts.get("name") or "*",
            architecture=texts.get("architecture") or None,
            disks=texts.get("disks") or None,
            vcpus=int(vcpus[:6] or 0),
            memory=texts.get("memory", ""),
        ),
        max_price=texts.get("max_price", ""),
        types=tuple(name[:_FIELD_LENGTH_MAX] for name in form.get("type", ())[: TYPES_MAX + 1]),
        count=texts["count"],
        cpu_speeds={name: texts.get(field, "") for name, field in _SPEED_FIELDS.items()},
        disk_rates={kind: texts.get(field, "") for kind, field in _RATE_FIELDS.items()},
        volumes=texts.get("volumes", ""),
        extra_prices={name: texts.get(field, "") for name, field in _EXTRA_PRICE_FIELDS.items()},
        volume_price=texts.get("volume_price", "") if texts.get("volumes") else "",
        iops_price=texts.get("iops_price", "") if texts.get("volumes") else "",
        prices={
            name.removeprefix(_PRICE_PREFIX): text for name, text in texts.items() if name.startswith(_PRICE_PREFIX)
        },
        date=texts["date"],
    )


def _links(request: InstanceChoiceRequest, choice: InstanceChoice, extra_costs: str) -> dict[str, Any]:
    """Return the addresses of the questions about the chosen types."""
    if not choice.catalogue_text:
        return {}
    files = {"catalogue_text": choice.catalogue_text, "prices_text": choice.prices_text}
    if extra_costs:
        files["extra_costs"] = extra_costs
    return {
        "links": (
            ("Find the best cluster of these types", f"/recommend?{urlencode({'w': WORKLOADS[0], **files})}"),
            ("Size from a log with these types", f"/size?{urlencode(files)}"),
        ),
        "whatif": tuple(
            (chosen_type.instance.name, f"/whatif?{urlencode(_changes(request, chosen_type.instance.name, choice))}")
            for chosen_type in choice.chosen
            if chosen_type.instance.name in choice.compared
        ),
    }


def _changes(request: InstanceChoiceRequest, name: str, choice: InstanceChoice) -> dict[str, str]:
    """Return the changes of ``assay whatif --set`` for one type."""
    changes = {"worker.type": name}
    [instance] = [chosen_type.instance for chosen_type in choice.chosen if chosen_type.instance.name == name]
    if request.volumes:
        changes["worker.volumes"] = request.volumes
    elif instance.disks is not None:  # a compared type without volumes has a known rate
        read_rate, _, write_rate = (request.disk_rates or {}).get(str(instance.disks.kind), "").partition(":")
        changes |= {"worker.devices.local.read": read_rate, "worker.devices.local.write": write_rate}
    speed = (request.cpu_speeds or {}).get(instance.architecture, "")
    if instance.architecture == ASSUMED_ARCHITECTURE and speed == ASSUMED_SPEED:
        return changes  # the question compares the architectures itself, with its interval
    return {**changes, "worker.cpu.speed": speed.partition(":")[0]}
