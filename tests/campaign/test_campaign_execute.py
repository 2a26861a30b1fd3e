"""What the parts of a campaign made, each on a lab of its own, is the call's."""

from assay.campaign.runner import Summary, added_up


def test_what_the_parts_of_a_call_made_is_added_up() -> None:
    lost = Summary("c", 4, 2, 1, {"valid": 1, "failed": 1}, {"infrastructure": 1}, None, hopeless=0)
    rest = Summary("c", 4, 3, 2, {"valid": 2, "failed": 1}, {"workload": 1}, None, hopeless=1)
    both = added_up([lost, rest])
    assert (both.made, both.already_there, both.not_valid, both.hopeless) == (5, 1, 2, 1)
    assert both.failures == {"infrastructure": 1, "workload": 1}
