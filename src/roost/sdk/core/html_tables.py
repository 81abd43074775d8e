"""Tables for notebooks: one small HTML table with every text escaped."""

from collections.abc import Mapping


def table(cells: Mapping[str, str], links: Mapping[str, tuple[str, str]]) -> str:
    """A table of one row: texts, then links as (words, address)."""
    import html  # noqa: PLC0415 - its table of entities is needed in notebooks only

    heads = "".join(f"<th>{html.escape(name)}</th>" for name in (*cells, *links))
    texts = "".join(f"<td>{html.escape(text)}</td>" for text in cells.values())
    anchors = "".join(
        f'<td><a href="{html.escape(address)}" target="_blank" rel="noopener">{html.escape(words)}</a></td>'
        for words, address in links.values()
    )
    return f'<table style="width:100%"><tr>{heads}</tr><tr>{texts}{anchors}</tr></table>'
