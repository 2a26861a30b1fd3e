"""Test that a job's configuration is stored without passwords, keys and tokens."""

from __future__ import annotations

import pytest

from assay.store.formats.hadoop.configuration import read_conf, without_secrets

PLANTED = "Pl4nted-s3cret"


def stored_value(name: str, value: str) -> str:
    entry = f"<property><name>{name}</name><value>{value}</value><final>false</final><source>x.xml</source></property>"
    content = without_secrets(f'<?xml version="1.0"?><configuration>{entry}</configuration>'.encode())
    assert PLANTED.encode() not in content
    return read_conf(content)[name].value


@pytest.mark.parametrize(
    "name",
    [
        "fs.s3a.secret.key",
        "fs.s3a.access.key",
        "fs.azure.account.key.place.dfs.core.windows.net",
        "ssl.server.keystore.password",
        "hadoop.ssl.keystore.pass",
        "javax.jdo.option.ConnectionPassword",
        "dfs.adls.oauth2.refresh.token",
        "hadoop.security.credential.clear-text",
    ],
)
def test_properties_named_like_secrets_are_omitted(name: str) -> None:
    assert stored_value(name, PLANTED) == "(left out)"


def test_only_the_secret_within_a_value_is_omitted() -> None:
    assert stored_value("mapreduce.map.java.opts", f"-Xmx1g -Djavax.net.ssl.trustStorePassword={PLANTED} -Da=b") == (
        "-Xmx1g -Djavax.net.ssl.trustStorePassword=(left out) -Da=b"
    )
    assert stored_value("hive.metastore.uris", f"jdbc://me:{PLANTED}@db:3306/x") == "jdbc://me:(left out)@db:3306/x"


@pytest.mark.parametrize("name", ["mapreduce.map.output.key.class", "dfs.blocksize", "mapreduce.job.reduces"])
def test_settings_that_matter_for_speed_are_unchanged(name: str) -> None:
    assert stored_value(name, "17") == "17"
