"""What a browser's session may do: this table, and nothing beside it. It looks, but for three deeds.

A page shows what runs wrote, and whoever takes a page over asks with its session. So a session can do nothing that hands it more
than it has: start code (which could read the token), read a secret, a key or a back-up, name a folder as data, let others in.
"""

READS = frozenset(
    {
        "/api/server",
        "/api/openapi.json",
        "/api/usage",
        "/api/workspaces",
        "/api/workspaces/{name}",
        "/api/workspaces/{workspace}/experiments",
        "/api/workspaces/{workspace}/experiments/{name}",
        "/api/workspaces/{workspace}/computes",
        "/api/workspaces/{workspace}/computes/{name}",
        "/api/workspaces/{workspace}/environments",
        "/api/workspaces/{workspace}/environments/{name}",
        "/api/workspaces/{workspace}/runs",
        "/api/workspaces/{workspace}/runs/columns",
        "/api/runs/{run_id}",
        "/api/runs/{run_id}/events",
        "/api/runs/{run_id}/children",
        "/api/runs/{run_id}/metrics",
        "/api/runs/{run_id}/metrics/summary",
        "/api/runs/{run_id}/metrics/points",
        "/api/runs/{run_id}/streams/{name:path}",
        "/api/runs/{run_id}/files",
        "/api/runs/{run_id}/files/{path:path}",
        "/api/runs/{run_id}/datasets",
        "/api/runs/{run_id}/models",
        "/api/runs/{run_id}/secrets",  # names
        "/api/workspaces/{workspace}/secrets",  # names
        "/api/blobs/{name}",
        "/api/workspaces/{workspace}/datastores",
        "/api/workspaces/{workspace}/datastores/{name}",
        "/api/workspaces/{workspace}/default-datastore",
        "/api/workspaces/{workspace}/datastores/{name}/items",
        "/api/workspaces/{workspace}/datastores/{name}/files/{path:path}",
        "/api/workspaces/{workspace}/datasets",
        "/api/workspaces/{workspace}/datasets/{name}",
        "/api/workspaces/{workspace}/datasets/by-id/{dataset_id}",
        "/api/workspaces/{workspace}/datasets/by-id/{dataset_id}/uses",
        "/api/workspaces/{workspace}/models",
        "/api/workspaces/{workspace}/models/{name}",
        "/api/workspaces/{workspace}/models/{name}/{version}/users",
        "/api/workspaces/{workspace}/endpoints",
        "/api/workspaces/{workspace}/endpoints/{name}",
        "/api/workspaces/{workspace}/endpoints/{name}/replicas",
        "/api/workspaces/{workspace}/endpoints/{name}/status",
        "/api/workspaces/{workspace}/endpoints/{name}/logs",
    }
)
CHANGES = frozenset(
    {
        ("POST", "/api/runs/{run_id}/cancel"),
        ("PATCH", "/api/runs/{run_id}"),  # name, description, tags
        ("POST", "/api/workspaces/{workspace}/datasets/items"),  # reads too: the definition is in the body
    }
)


def may(method: str, path: str) -> bool:
    """Whether a session may use this route."""
    return (method == "GET" and path in READS) or (method, path) in CHANGES
