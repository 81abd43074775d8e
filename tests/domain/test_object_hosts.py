"""Addresses of object stores: one reading of each, and services of providers instead of their whole domains."""

import pytest

from roost.domain.errors import InvalidInput
from roost.domain.object_hosts import read

TWO_READINGS = (
    "http://127.0.0.9\\.amazonaws.com",
    "http://127.0.0.9\\@s3.amazonaws.com",
    "http://127.0.0.9/\\.s3.amazonaws.com",
    "http://user:pw@s3.amazonaws.com",
    "http://s3.amazonaws.com@127.0.0.9",
    "http://127.0.0.9%2f.s3.amazonaws.com",
    "http://127.0.0.9%5c.s3.amazonaws.com",
    "http://127.0.0.9%00.s3.amazonaws.com",
    "http://127.0.0.9\t.s3.amazonaws.com",
    "http://127.0.0.9\n.s3.amazonaws.com",
    "http://127.0.0.9 .s3.amazonaws.com",
    "http://127.0.0.9?.s3.amazonaws.com",
    "http://127.0.0.9#.s3.amazonaws.com",
    "http://127.0.0.9;.s3.amazonaws.com",
    "http://127\u30020\u30020\u30029",
    "http://127\uff0e0\uff0e0\uff0e9",
    "http://s3\uff61amazonaws.com",
    "http://\u017f3.amazonaws.com",
    "http://s3.amazonaws.com.",
    "http://s3..amazonaws.com",
    "http://.s3.amazonaws.com",
    "http://-s3.amazonaws.com",
    "http://2130706441",
    "http://0x7f000009",
    "http://0x7f.9",
    "http://127.9",
    "http://127.0.0.011",
    "http://0177.0.0.9",
    "http://127.0.0.256",
    "http://s3.amazonaws.com.1",
    "http://[fe80::1%25eth0]",
    "http://[fe80::1%eth0]",
    "http://[::1",
    "http://::1",
    "http://[v1.x]",
    "http://s3.amazonaws.com:",
    "http://s3.amazonaws.com:0",
    "http://s3.amazonaws.com:65536",
    "http://s3.amazonaws.com:80:80",
    "http://s3.amazonaws.com:8\u0660",
    "http:///s3.amazonaws.com",
    "http:/s3.amazonaws.com",
    "http:s3.amazonaws.com",
    "//s3.amazonaws.com",
    "ftp://s3.amazonaws.com",
    "http://s3.amazonaws.com/a/../b",
    "http://s3.amazonaws.com/a?b=c",
    "http://s3.amazonaws.com/a%2e%2e",
    "http://",
)
NOT_SERVICES = (
    "http://ec2-198-51-100-7.compute-1.amazonaws.com",
    "https://abc.execute-api.eu-west-1.amazonaws.com",
    "http://site.s3-website-eu-west-1.amazonaws.com",
    "http://site.s3-website.eu-west-1.amazonaws.com",
    "https://vpce-1.s3.eu-west-1.vpce.amazonaws.com",
    "https://s3.evil.amazonaws.com",
    "https://amazonaws.com",
    "https://evils3.amazonaws.com",
    "https://acc.web.core.windows.net",
    "https://acc.vault.windows.net",
    "https://blob.core.windows.net.evil.example",
    "https://compute.googleapis.com",
    "https://evil.example",
    "http://127.0.0.1",
    "http://[::1]",
    "http://[::ffff:127.0.0.1]",
    "http://s3.amazonaws.com:22",
)
OTHER_HOSTS = (*TWO_READINGS, *NOT_SERVICES)


@pytest.mark.parametrize("url", TWO_READINGS)
def test_an_address_with_two_readings_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(url)
    assert "pw@" not in str(caught.value)


@pytest.mark.parametrize("url", NOT_SERVICES)
def test_a_domain_of_a_provider_holds_more_than_object_stores(url: str) -> None:
    assert not read(url).of_a_provider


@pytest.mark.parametrize(
    "url",
    [
        "https://s3.amazonaws.com",
        "https://s3.eu-west-1.amazonaws.com",
        "https://s3.dualstack.us-gov-west-1.amazonaws.com",
        "https://s3-fips.us-east-2.amazonaws.com",
        "https://s3-us-west-2.amazonaws.com",
        "https://my.bucket.s3.eu-central-1.amazonaws.com",
        "https://s3.cn-north-1.amazonaws.com.cn:443",
        "https://acc.blob.core.windows.net",
        "https://acc-secondary.dfs.core.windows.net/container",
        "https://acc.blob.core.usgovcloudapi.net",
        "https://acc.z12.blob.storage.azure.net",
        "https://storage.googleapis.com",
        "https://storage.europe-west1.rep.googleapis.com",
    ],
)
def test_services_of_providers(url: str) -> None:
    assert read(url).of_a_provider and str(read(url)) == url


@pytest.mark.parametrize(
    ("url", "rebuilt"),
    [
        ("HTTP://MinIO.Local:9000//a//b/", "http://minio.local:9000/a/b"),
        ("http://127.0.0.1:10000/devstoreaccount1", "http://127.0.0.1:10000/devstoreaccount1"),
        ("http://[0:0::0:1]:9000", "http://[::1]:9000"),
        ("http://minio_1:09000", "http://minio_1:9000"),
    ],
)
def test_an_address_is_written_anew_from_its_parts(url: str, rebuilt: str) -> None:
    assert str(read(url)) == rebuilt


def test_a_list_names_hosts_or_hosts_with_ports() -> None:
    assert read("http://Minio.local:9000/x").among(["minio.local:9000"])
    assert read("http://minio.local:9001").among(["Minio.Local"])
    assert read("https://minio.local").among(["minio.local:443"])
    assert not read("http://minio.local:9001").among(["minio.local:9000"])
    assert read("http://[::1]:9000").among(["[::1]:9000"]) and read("http://[::1]").among(["::1"])
