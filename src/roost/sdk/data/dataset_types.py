"""The choices that tables are read by: the job library's, so that a job makes what anybody can read."""

from roost_job.data.dataset_types import DataType, FileEncoding, PromoteHeadersBehavior

__all__ = ["DataType", "FileEncoding", "PromoteHeadersBehavior"]
