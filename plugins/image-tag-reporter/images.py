"""Names of container images, taken apart."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Image:
    """`registry.example.com:5000/team/app:1.2@sha256:…` in its parts."""

    #: Without tag and digest.
    repository: str
    #: `latest` where none is written, as container runtimes read it; empty beside a digest.
    tag: str
    #: With its algorithm; empty where none is written.
    digest: str


def parse(text: str) -> Image:
    """The parts of an image's name."""
    name, _, digest = text.partition("@")
    before, slash, last = name.rpartition("/")
    # A colon before the last slash is that of a port.
    last, _, tag = last.partition(":")
    return Image(before + slash + last, tag or ("" if digest else "latest"), digest)
