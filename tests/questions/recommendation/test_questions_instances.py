"""Test instance types: filters, catalogues that assay recommend reads, and facts that no source states."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assay.execution.planning.plan_files.hardware_file import catalogue_of
from assay.foundation.errors import AssayError, FormatError, SpecificationError
from assay.interfaces.cli.main import assay
from assay.model import DeviceKind
from assay.model.clusters.credits import CreditBucket, CreditKind
from assay.model.clusters.volume_type import VOLUME_TYPES
from assay.questions.recommendation.catalogues import hardware_and_prices
from assay.questions.recommendation.instances import CatalogueRequest, InstanceRequest, catalogue_text, list_instances
from assay.questions.recommendation.request import RecommendRequest
from assay.specs import load_prices
from assay.specs.prices import prices_of
from paths import EXAMPLES

MIB = 2**20
TIB = 2**40
PRICES = """\
InstanceType,Price,SpotPrice,Region,AvailabilityZone
i4i.2xlarge,0.686,0.2744,us-east-1,a
i4i.2xlarge,0.686,0.3012,us-east-1,b
d3.2xlarge,0.999,,us-east-1,a
d3.2xlarge,1.111,0.4,eu-west-1,a
"""
SPEED = ("x86_64=2:1:4",)


def _assay(*arguments: str) -> Result:
    return CliRunner().invoke(assay, arguments)


def test_filters_select_by_hardware() -> None:
    types = list_instances(InstanceRequest("i4i.*", cores=4, memory="100GB"))
    assert [instance.name for instance in types.instances][:2] == ["i4i.4xlarge", "i4i.8xlarge"]
    hard = list_instances(InstanceRequest(disks="hdd")).instances
    assert {instance.family for instance in hard} >= {"d3", "d3en"}
    assert all(instance.current_generation and not instance.accelerators for instance in hard)
    older = list_instances(InstanceRequest(disks="hdd", previous_generation=True)).instances
    assert len(older) > len(hard)
    assert not list_instances(InstanceRequest("no-such*")).instances


def test_json_is_the_list_of_the_table(tmp_path: Path) -> None:
    printed = json.loads(_assay("instances", "list", "i4i.2xlarge", "--json").output)
    assert printed["total"] == 1386
    (instance,) = printed["instances"]
    assert instance["memory_bytes"] == 64 * 2**30
    assert instance["disks"] == {"kind": "nvme", "count": 1, "capacity_bytes": 1875 * 10**9}


def test_a_catalogue_has_the_tables_hardware_and_the_users_rates() -> None:
    request = CatalogueRequest(
        ("d3.2xlarge", "m7g.2xlarge"),
        count="4-6",
        disk_rates=("hdd=190MB/s:180MB/s",),
        volumes="gp3:1TB:2",
        cpu_speeds=("x86_64=2:1:4", "arm64=2.5:1:5"),
    )
    catalogue = catalogue_of(catalogue_text(request))
    storage, arm = catalogue.workers
    assert (storage.name, storage.cores, storage.memories_bytes) == ("d3-2xlarge", 4, (64 * 2**30,))
    assert storage.counts == (4, 5, 6)
    assert storage.networks == {"baseline": pytest.approx(6e9)}
    local, volume = storage.devices
    assert (local.device.kind, local.counts, local.device.read_bytes_per_s) == (DeviceKind.HDD, (6,), 190e6)
    # During its burst, the instance has more than 2 × 125 MiB/s for both volumes; then it has 212.5 MB/s.
    assert volume.device.read_bytes_per_s == pytest.approx(125 * MIB, rel=0.01)
    assert storage.credits == (CreditBucket(CreditKind.VOLUME_LINK, 212.5e6, 247.5e9, 247.5e9, "gp3"),)
    assert (arm.cpu_speed, arm.cpu_speed_low, arm.cpu_speed_high) == (2.5, 1, 5)
    assert [option.group for option in arm.devices] == ["gp3"]


def test_a_catalogue_has_the_credits_of_burstable_machines() -> None:
    request = CatalogueRequest(("t2.2xlarge",), volumes="st1:1TB:1", cpu_speeds=SPEED)
    [worker] = catalogue_of(catalogue_text(request)).workers
    cpu, volumes = worker.credits
    assert (cpu.kind, cpu.start) == (CreditKind.CPU, 30 * 8 * 60)
    assert cpu.baseline_per_s == pytest.approx(0.17 * 8)
    assert (volumes.kind, volumes.devices, volumes.limit) == (CreditKind.VOLUMES, "st1", 10**12)
    text = catalogue_text(request).replace("start: 14400", "start: 144000000")
    with pytest.raises(SpecificationError, match="start at most limit"):
        catalogue_of(text)
    with pytest.raises(SpecificationError, match="cpus: Input should be 'cpu'"):
        catalogue_of(catalogue_text(request).replace("cpu: {baseline", "cpus: {baseline"))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (CatalogueRequest(("i4i.2xlarge",), cpu_speeds=SPEED), "no source states the rate of the local disks"),
        (
            CatalogueRequest(("i4i.large", "m7g.large"), cpu_speeds=SPEED, disk_rates=("nvme=1GB/s:1GB/s",)),
            "speed of a core of arm64",
        ),
        (CatalogueRequest(("m7i.large",), cpu_speeds=SPEED), "has no local disks"),
        (CatalogueRequest(("i4i.2xlrge",), cpu_speeds=SPEED), "did you mean 'i4i.2xlarge'"),
        (CatalogueRequest(("m7i.large",), cpu_speeds=SPEED, volumes="gp4:1TB:1"), "did you mean 'gp3'"),
        (CatalogueRequest(("m7i.large",), cpu_speeds=SPEED, volumes="gp3:1TB"), "gp3:1TB"),
        (CatalogueRequest(("m7i.large",), cpu_speeds=("x86_64=1:2",), volumes="gp3:1TB:1"), "not a speed"),
        (CatalogueRequest(("m7i.large",), cpu_speeds=("x86_64=2:3:4",), volumes="gp3:1TB:1"), "not a speed"),
        (CatalogueRequest(("i4i.large",), cpu_speeds=SPEED, disk_rates=("nvme=fast",)), "fast"),
        (CatalogueRequest(("i4i.large",), cpu_speeds=SPEED, disk_rates=("tape=1GB/s:1GB/s",)), "unknown disk kind"),
    ],
)
def test_facts_without_a_source_are_requested_from_the_user(request_: CatalogueRequest, words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        catalogue_text(request_)


def test_a_speed_without_an_interval_gets_the_assumed_one_and_only_x86_has_a_default() -> None:
    plain = catalogue_of(catalogue_text(CatalogueRequest(("m7g.large",), "2", (), "gp3:1TB:1", ("arm64=3",))))
    [worker] = plain.workers
    assert (worker.cpu_speed, worker.cpu_speed_low, worker.cpu_speed_high) == (3, 1.5, 6)
    assert "arm64 cores is stated without an interval; a factor of 2" in plain.assumptions[0]
    assumed = catalogue_of(catalogue_text(CatalogueRequest(("m7i.large",), "2", (), "gp3:1TB:1")))
    [worker] = assumed.workers
    assert (worker.cpu_speed, worker.cpu_speed_low, worker.cpu_speed_high) == (1, 0.5, 2)
    assert "x86_64 types is as fast as one of the log's or the profile's machines" in assumed.assumptions[1]
    for text in ("x86_64=0", "x86_64=-1", "x86_64=inf", "x86_64=nan", "x86_64=", "x86_64=1:0.5:2:3"):
        with pytest.raises(SpecificationError, match="not a speed"):
            catalogue_text(CatalogueRequest(("m7i.large",), volumes="gp3:1TB:1", cpu_speeds=(text,)))


def test_types_with_an_unknown_rate_are_named_and_do_not_stop_the_others() -> None:
    types = ("i4i.2xlarge", "d3.2xlarge")
    rates = ("hdd=190MB/s:190MB/s",)
    catalogue = catalogue_of(catalogue_text(CatalogueRequest(types, "4", rates, cpu_speeds=("x86_64=2:1:4",))))
    assert [worker.name for worker in catalogue.workers] == ["d3-2xlarge"]
    assert catalogue.assumptions == (
        "a core is a physical core: one of these x86_64 types has 2 vCPUs (hardware threads)",
        "not compared: i4i.2xlarge, whose local disks have an unknown rate",
    )
    catalogue = catalogue_of(catalogue_text(CatalogueRequest(types, "4", rates, "gp3:1TB:2")))
    flash, hard = catalogue.workers
    assert [option.group for option in flash.devices] == ["gp3"]
    assert [option.group for option in hard.devices] == ["local", "gp3"]
    assert "local disks of i4i.2xlarge are not used: their rate is unknown" in catalogue.assumptions


def test_an_empty_filter_filters_nothing() -> None:
    assert list_instances(InstanceRequest("", architecture="", disks="")) == list_instances(InstanceRequest())


def test_volumes_have_the_documented_baselines() -> None:
    assert VOLUME_TYPES["gp3"].bytes_per_s(TIB) == 125 * MIB
    assert VOLUME_TYPES["st1"].bytes_per_s(2 * TIB) == 80 * MIB
    assert VOLUME_TYPES["st1"].bytes_per_s(16 * TIB) == 500 * MIB


def test_prices_of_volumes_are_stated_with_their_size(tmp_path: Path) -> None:
    (tmp_path / "vms.csv").write_text(PRICES)
    command = ["prices", "instances", str(tmp_path / "vms.csv"), "--region", "us-east-1", "--type", "i4i.2xlarge"]
    command += ["--date", "2026-11-27", "--volume-price", "$0.045"]
    priced = _assay(*command, "--volumes", "st1:2TB:1")
    item = 'name: st1 volume of 2 TB, price: "$83.819", per: device-month, device: hdd, device_name: st1'
    assert item in priced.output
    refused = _assay(*command)
    assert isinstance(refused.exception, SpecificationError)
    assert "needs their type and size" in refused.exception.message


def test_prices_become_a_book_by_hour(tmp_path: Path) -> None:
    (tmp_path / "vms.csv").write_text(PRICES)
    types = ["--type", "i4i.2xlarge", "--region", "us-east-1", "--date", "2026-11-27"]
    spot = _assay("prices", "instances", str(tmp_path / "vms.csv"), *types, "--spot")
    assert spot.exit_code == 0, spot.output
    (tmp_path / "prices.yaml").write_text(spot.output)
    worker, master, _rest = load_prices(tmp_path / "prices.yaml").items
    assert (worker.node_type, worker.per) == ("i4i-2xlarge", "node-hour")
    assert tuple(map(str, (worker.low, worker.amount, worker.high))) == ("0.2744", "0.2878", "0.3012")
    assert (master.per, master.amount) == ("master-hour", worker.amount)
    demand = _assay("prices", "instances", str(tmp_path / "vms.csv"), *types)
    (tmp_path / "prices.yaml").write_text(demand.output)
    first = load_prices(tmp_path / "prices.yaml").items[0]
    assert (str(first.amount), first.low) == ("0.686", None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--type", "d3.2xlarge", "--region", "us-east-1", "--spot"], "no spot price in us-east-1 for: d3.2xlarge"),
        (["--type", "d3.2xlarge", "--region", "us-est-1"], "did you mean 'us-east-1'"),
        (["--type", "none.large", "--region", "us-east-1"], "no on-demand price in us-east-1 for: none.large"),
    ],
)
def test_a_missing_price_is_an_error(options: list[str], words: str, tmp_path: Path) -> None:
    (tmp_path / "vms.csv").write_text(PRICES)
    result = _assay("prices", "instances", str(tmp_path / "vms.csv"), *options, "--date", "2026-11-27")
    assert result.exit_code != 0
    assert words in result.output + str(result.exception)


@pytest.mark.slow
def test_a_catalogue_and_prices_of_instances_are_recommended_from(tmp_path: Path) -> None:
    (tmp_path / "vms.csv").write_text(PRICES)
    done = _assay(
        "instances",
        "catalogue",
        "i4i.2xlarge",
        "d3.2xlarge",
        "i3.2xlarge",
        "--count",
        "4-5",
        "--cpu-speed",
        "x86_64=2",
        "--disk-rates",
        "i4i.2xlarge=1.4GB/s:900MB/s",
        "--disk-rates",
        "hdd=190MB/s:190MB/s",
    )
    (tmp_path / "cloud.yaml").write_text(done.output)
    book = _assay(
        "prices",
        "instances",
        str(tmp_path / "vms.csv"),
        "--type",
        "i4i.2xlarge",
        "--type",
        "d3.2xlarge",
        "--region",
        "us-east-1",
        "--date",
        "2026-11-27",
    )
    (tmp_path / "prices.yaml").write_text(book.output)
    files = ["--catalogue", str(tmp_path / "cloud.yaml"), "--prices", str(tmp_path / "prices.yaml")]
    options = ["--deadline", "4h", "--simulations", "4", "--json"]
    answer = _assay("recommend", "--workload", "terasort:50GB:daily", *files, *options)
    assert answer.exit_code == 0, answer.output
    printed = json.loads(answer.stdout)
    assert "i4i-2xlarge" in json.dumps(printed)
    assert "not compared: i3.2xlarge, whose local disks have an unknown rate" in printed["assumptions"]
    assert any("x86_64 cores is stated without an interval" in text for text in printed["assumptions"])


OFFER_HEAD = """\
"FormatVersion","v1.0"
"Disclaimer","for information, without warranty"
"Publication Date","2026-11-20T16:02:58Z"
"Version","20261120160258"
"OfferCode","AmazonEC2"
"""
OFFER_COLUMNS = (
    "SKU,TermType,Unit,PricePerUnit,Currency,Instance Type,Tenancy,Operating System,Pre Installed S/W,"
    "CapacityStatus,Region Code"
)
USUAL = ("s", "OnDemand", "Hrs", "0.6860000000", "USD", "i4i.2xlarge", "Shared", "Linux", "NA", "Used", "us-east-1")


def _offer(*rows: tuple[str, ...]) -> str:
    lines = [OFFER_COLUMNS.split(","), *rows]
    return OFFER_HEAD + "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)


def test_an_offer_file_gives_the_prices_of_shared_linux_machines_and_its_date(tmp_path: Path) -> None:
    others = {
        1: "Reserved",
        2: "Quantity",
        3: "0.0000000000",
        4: "CNY",
        6: "Dedicated",
        7: "Windows",
        8: "SQL Std",
        9: "AllocatedCapacityReservation",
        10: "eu-west-1",
    }
    changed = [(*USUAL[:at], text, *USUAL[at + 1 :]) for at, text in others.items()]
    changed = [(*row[:3], "9" if row[3] != "0.0000000000" else row[3], *row[4:]) for row in changed]
    table = tmp_path / "index.csv"
    table.write_text(_offer(*changed, USUAL))
    options = ("prices", "instances", str(table), "--region", "us-east-1", "--type", "i4i.2xlarge")
    book = prices_of(_assay(*options).output, "book")
    assert book.date == "2026-11-20"
    assert {item.name: str(item.amount) for item in book.items if item.node_type} == {"i4i.2xlarge": "0.686"}
    assert prices_of(_assay(*options, "--date", "2026-11-27").output, "book").date == "2026-11-27"
    for words, text in (
        (("--spot",), _offer(USUAL)),
        (("--region", "us-east-2"), _offer(USUAL)),
        ((), _offer(USUAL).replace("Tenancy", "Tenant")),
        ((), _offer((*USUAL[:3], "much", *USUAL[4:]))),
        ((), OFFER_HEAD.replace("OfferCode", "Offer")),
    ):
        table.write_text(text)
        refused = _assay(*options, *words).exception
        assert isinstance(refused, FormatError)
    table.write_text(PRICES)
    assert isinstance(_assay(*options).exception, SpecificationError), "this form states no date"
    assert _assay(*options, "--date", "2026-11-27").exit_code == 0


def test_a_question_takes_a_price_list_with_its_region() -> None:
    hardware = catalogue_text(
        CatalogueRequest(("i4i.2xlarge", "d3.2xlarge"), "3", ("nvme=1.4GB/s:900MB/s", "hdd=190MB/s:190MB/s"))
    )
    listed = RecommendRequest(
        catalogue_text=hardware, prices_text=PRICES, prices_region="us-east-1", prices_date="2026-11-27"
    )
    catalogue, book = hardware_and_prices(listed, {})
    assert [worker.name for worker in catalogue.workers] == ["i4i-2xlarge", "d3-2xlarge"]
    assert {item.node_type: str(item.amount) for item in book.items if item.node_type} == {
        "i4i-2xlarge": "0.686",
        "d3-2xlarge": "0.999",
    }
    stored = {"instances": EXAMPLES / "instances", "hardware": EXAMPLES / "hardware"}
    offer = _offer(*((*USUAL[:5], name, *USUAL[6:]) for name in ("m6id.2xlarge", "i4i.2xlarge", "d3.2xlarge")))
    of_stored = RecommendRequest(catalogue="instances", prices_text=offer, prices_region="us-east-1")
    assert hardware_and_prices(of_stored, stored)[1].date == "2026-11-20"
    assert hardware_and_prices(RecommendRequest(catalogue="instances"), stored)[1].date == "2026-11-27"
    for request, words in (
        (replace(listed, prices_date=""), "date"),
        (replace(listed, prices_region="mars"), "mars"),
        (replace(listed, prices_spot=True), "no spot price in us-east-1 for: d3.2xlarge"),
        (replace(of_stored, catalogue="hardware"), "small-server is no instance type"),
    ):
        with pytest.raises(AssayError, match=words):
            hardware_and_prices(request, stored)
