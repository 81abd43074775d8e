"""`DataPath`: a place in a datastore; `DataPathComputeBinding`: how a run gets it. Both are the job library's."""

from roost_job.data.datapaths import DataPath, DataPathComputeBinding

__all__ = ["DataPath", "DataPathComputeBinding"]
