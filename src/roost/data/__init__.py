"""Data on clients and nodes: `resolving` says which files a dataset is, `fetching` brings them, `mounting` lays them out, `cache`
keeps what came.

Whatever a datastore is, here a file is a path on this machine or an address to GET (`domain.datastores.Item`). Start with
`resolving.resolve` and `fetching.fetch`; docs/how-it-works/data.md tells the whole of it.
"""
