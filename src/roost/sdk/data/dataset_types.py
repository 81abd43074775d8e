"""The options for reading tables. They are the job library's, so that a dataset made in a job can be read everywhere."""

from roost_job.data.dataset_types import DataType, FileEncoding, PromoteHeadersBehavior

__all__ = ["DataType", "FileEncoding", "PromoteHeadersBehavior"]
