"""The web app: a REST API and pages over one repository. A face: it shows, it computes nothing."""
