"""Data on clients and nodes: `resolving` lists the files of a dataset, `fetching` downloads them, `mounting` presents them as a
folder, `cache` stores downloaded files.

For every kind of datastore, a file here is a path on this machine or an address to GET (`domain.datastores.Item`). Start with
`resolving.resolve` and `fetching.fetch`; docs/how-it-works/data.md describes the whole.
"""
