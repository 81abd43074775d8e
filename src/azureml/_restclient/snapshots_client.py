"""`azureml._restclient.snapshots_client`: the limit that scripts set higher. Roost has none, whatever stands here."""

from azureml._lending import lend

SNAPSHOT_MAX_SIZE_BYTES = 300 * 1024 * 1024
SNAPSHOT_BYTES_LIMIT = SNAPSHOT_MAX_SIZE_BYTES

lend(globals())
