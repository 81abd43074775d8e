"""Every route of the server, written out by hand: its action, its scope, and the roles that may use it.

The copy that tests compare the server with, never made from the server's own table. A new route, or a role that gets more or
less, is a line that changes here: read it as a decision.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    action: str
    scope: str
    roles: frozenset[str]
    """`anyone` needs no token."""


_TABLE = """
GET    /api/health                                                      health.read           server    anyone
GET    /api/server                                                      server.read           server    person run browser
POST   /api/server/shutdown                                             server.stop           server    person
GET    /api/openapi.json                                                server.read           server    person run browser
PUT    /api/workspaces/{workspace}                                      workspace.create      workspace person
GET    /api/workspaces                                                  workspace.read        server    person browser
GET    /api/workspaces/{workspace}                                      workspace.read        workspace person browser
PUT    /api/workspaces/{workspace}/experiments/{name}                   experiment.create     workspace person
GET    /api/workspaces/{workspace}/experiments/{name}                   experiment.read       workspace person browser
PATCH  /api/workspaces/{workspace}/experiments/{name}                   experiment.change     workspace person
DELETE /api/workspaces/{workspace}/experiments/{name}                   experiment.delete     workspace person
GET    /api/workspaces/{workspace}/experiments                          experiment.read       workspace person browser
PUT    /api/workspaces/{workspace}/computes/{name}                      compute.create        workspace person
GET    /api/workspaces/{workspace}/computes                             compute.read          workspace person browser
GET    /api/workspaces/{workspace}/computes/{name}                      compute.read          workspace person browser
PATCH  /api/workspaces/{workspace}/computes/{name}                      compute.change        workspace person
DELETE /api/workspaces/{workspace}/computes/{name}                      compute.delete        workspace person
POST   /api/workspaces/{workspace}/computes/{name}/nodes/{node}/preempt compute.preempt       workspace person
PUT    /api/workspaces/{workspace}/environments/{name}                  environment.register  workspace person
GET    /api/workspaces/{workspace}/environments                         environment.read      workspace person browser
GET    /api/workspaces/{workspace}/environments/{name}                  environment.read      workspace person browser
POST   /api/workspaces/{workspace}/builds                               build.look-up         workspace person
POST   /api/runs/{run_id}/environment                                   build.report          run       person run
PUT    /api/runs/{run_id}/environment/archive                           archive.write         run       person run
GET    /api/archives                                                    archive.list          server    person
GET    /api/archives/{lock}                                             archive.read          server    person run
DELETE /api/archives/{lock}                                             archive.delete        server    person
POST   /api/workspaces/{workspace}/runs                                 run.submit            workspace person
GET    /api/workspaces/{workspace}/runs                                 run.list              workspace person browser
GET    /api/workspaces/{workspace}/runs/columns                         run.list              workspace person browser
GET    /api/runs/{run_id}                                               run.read              run       person run browser
POST   /api/runs/{run_id}/heartbeat                                     run.report            run       person run
GET    /api/runs/{run_id}/events                                        run.read              run       person run browser
POST   /api/runs/{run_id}/events                                        run.report            run       person run
PATCH  /api/runs/{run_id}                                               run.annotate          run       person run browser
DELETE /api/runs/{run_id}                                               run.delete            run       person
POST   /api/runs/{run_id}/cancel                                        run.cancel            run       person run browser
POST   /api/runs/{run_id}/mark                                          run.mark              run       person run
POST   /api/runs/{run_id}/children                                      run.create-child      run       person run
GET    /api/runs/{run_id}/children                                      run.read              run       person run browser
GET    /api/runs/{run_id}/agents                                        gang.read             run       person run
POST   /api/runs/{run_id}/agents/{node_rank}/meet                       run.report            run       person run
POST   /api/runs/{run_id}/agents/{node_rank}/heartbeat                  run.report            run       person run
POST   /api/runs/{run_id}/agents/{node_rank}/events                     run.report            run       person run
POST   /api/runs/{run_id}/agents/{node_rank}/commands                   gang.command          run       person run
GET    /api/runs/{run_id}/agents/{node_rank}/commands                   gang.read             run       person run
GET    /api/runs/{run_id}/commands/{number}                             gang.read             run       person run
POST   /api/runs/{run_id}/commands/{number}                             gang.command          run       person run
POST   /api/runs/{run_id}/spools/{spool}                                metric.write          run       person run
GET    /api/runs/{run_id}/metrics                                       metric.read           run       person run browser
GET    /api/runs/{run_id}/metrics/summary                               metric.read           run       person run browser
GET    /api/runs/{run_id}/metrics/points                                metric.read           run       person run browser
POST   /api/runs/{run_id}/streams/{name:path}                           log.write             run       person run
GET    /api/runs/{run_id}/streams/{name:path}                           log.read              run       person run browser
GET    /api/runs/{run_id}/files                                         file.read             run       person run browser
PUT    /api/runs/{run_id}/files                                         file.write            run       person run
GET    /api/runs/{run_id}/files/{path:path}                             file.read             run       person run browser
POST   /api/blobs/missing                                               blob.write            server    person run
POST   /api/blobs/batch                                                 blob.write            server    person run
POST   /api/blobs/fetch                                                 blob.fetch            server    person run
POST   /api/blobs                                                       blob.write            server    person run
PUT    /api/blobs/{name}                                                blob.write            server    person run
GET    /api/blobs/{name}                                                blob.read             server    person run browser
PUT    /api/workspaces/{workspace}/secrets                              secret.write          workspace person
GET    /api/workspaces/{workspace}/secrets                              secret.list           workspace person browser
GET    /api/workspaces/{workspace}/secrets/values                       secret.read           workspace person
DELETE /api/workspaces/{workspace}/secrets/{name}                       secret.delete         workspace person
GET    /api/runs/{run_id}/secrets                                       run.secret.list       run       person run browser
GET    /api/runs/{run_id}/secrets/values                                run.secret.read       run       person run
GET    /api/workspaces/{workspace}/datastores                           datastore.read        workspace person run browser
GET    /api/workspaces/{workspace}/default-datastore                    datastore.read        workspace person run browser
PUT    /api/workspaces/{workspace}/default-datastore                    datastore.set-default workspace person
PUT    /api/workspaces/{workspace}/datastores/{name}                    datastore.register    workspace person
GET    /api/workspaces/{workspace}/datastores/{name}                    datastore.read        workspace person run browser
DELETE /api/workspaces/{workspace}/datastores/{name}                    datastore.delete      workspace person
GET    /api/workspaces/{workspace}/datastores/{name}/items              stored-file.read      workspace person run browser
GET    /api/workspaces/{workspace}/datastores/{name}/files/{path:path}  stored-file.read      workspace person run browser
POST   /api/workspaces/{workspace}/datastores/{name}/files              stored-file.fetch     workspace person run
PUT    /api/workspaces/{workspace}/datastores/{name}/files/{path:path}  stored-file.write     workspace person run
PUT    /api/workspaces/{workspace}/datastores/{name}/files              stored-file.write     workspace person run
POST   /api/workspaces/{workspace}/datasets/items                       dataset.read          workspace person run browser
PUT    /api/workspaces/{workspace}/datasets/{name}                      dataset.register      workspace person run
GET    /api/workspaces/{workspace}/datasets                             dataset.read          workspace person run browser
GET    /api/workspaces/{workspace}/datasets/{name}                      dataset.read          workspace person run browser
DELETE /api/workspaces/{workspace}/datasets/{name}                      dataset.delete        workspace person
GET    /api/workspaces/{workspace}/datasets/by-id/{dataset_id}          dataset.read          workspace person run browser
PATCH  /api/workspaces/{workspace}/datasets/by-id/{dataset_id}          dataset.change        workspace person
GET    /api/workspaces/{workspace}/datasets/by-id/{dataset_id}/uses     dataset.trace         workspace person browser
GET    /api/runs/{run_id}/datasets                                      run.read              run       person run browser
POST   /api/runs/{run_id}/datasets                                      run.declare-data      run       person run
POST   /api/runs/{run_id}/outputs/{name}                                run.declare-data      run       person run
GET    /api/workspaces/{workspace}/endpoints                            endpoint.read         workspace person browser
PUT    /api/workspaces/{workspace}/endpoints/{name}                     endpoint.deploy       workspace person
GET    /api/workspaces/{workspace}/endpoints/{name}                     endpoint.read         workspace person browser
DELETE /api/workspaces/{workspace}/endpoints/{name}                     endpoint.delete       workspace person
GET    /api/workspaces/{workspace}/endpoints/{name}/keys                endpoint.key.read     workspace person
POST   /api/workspaces/{workspace}/endpoints/{name}/keys                endpoint.key.change   workspace person
POST   /api/workspaces/{workspace}/endpoints/{name}/token               endpoint.token.create workspace person
GET    /api/workspaces/{workspace}/endpoints/{name}/logs                endpoint.read         workspace person browser
GET    /api/workspaces/{workspace}/endpoints/{name}/replicas            endpoint.read         workspace person browser
GET    /api/workspaces/{workspace}/endpoints/{name}/status              endpoint.read         workspace person browser
GET    /api/workspaces/{workspace}/endpoints/{name}/records             endpoint.record.read  workspace person
POST   /api/workspaces/{workspace}/models                               model.register        workspace person run
GET    /api/workspaces/{workspace}/models                               model.read            workspace person run browser
GET    /api/workspaces/{workspace}/models/{name}                        model.read            workspace person run browser
PATCH  /api/workspaces/{workspace}/models/{name}/{version}              model.change          workspace person run
DELETE /api/workspaces/{workspace}/models/{name}/{version}              model.delete          workspace person
GET    /api/workspaces/{workspace}/models/{name}/{version}/users        model.trace           workspace person browser
GET    /api/runs/{run_id}/models                                        run.read              run       person run browser
POST   /api/sessions                                                    session.invite        server    person
GET    /login                                                           session.begin         server    anyone
GET    /api/usage                                                       usage.read            server    person browser
POST   /api/sweep                                                       sweep                 server    person
GET    /api/backup                                                      backup                server    person
GET    /                                                                page.read             server    anyone
GET    /runs/{run_id}                                                   page.read             server    anyone
GET    /data                                                            page.read             server    anyone
GET    /data/{name}                                                     page.read             server    anyone
GET    /models/{name}                                                   page.read             server    anyone
GET    /serving                                                         page.read             server    anyone
GET    /studio/{name}                                                   page.read             server    anyone
"""


def _rows() -> dict[tuple[str, str], Row]:
    rows = {}
    for line in _TABLE.strip().splitlines():
        method, path, action, scope, *roles = line.split()
        rows[method, path] = Row(action, scope, frozenset(roles))
    return rows


ROUTES = _rows()
"""By method and path."""
