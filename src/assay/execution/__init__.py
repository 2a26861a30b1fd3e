"""Execute plans on machines: planning, campaigns, engines, hosts, lab, observation."""
