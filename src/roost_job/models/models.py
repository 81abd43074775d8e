"""`Model`: a registered model as a script uses it, in a job on any Python and outside; the SDK extends it
(`roost.sdk.models.models`).

Its requests go to the workspace's link, an object with `ask(op, **fields)` whose ops are those of the door
(docs/how-it-works/wire.md): in a job the agent's door, outside the same over HTTP.
"""

import datetime
import os
import sys
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Sequence, Type, TypeVar

from roost_job import absent, outside
from roost_job.context import JobWorkspace, experiment_of, job_here
from roost_job.exceptions import ModelNotFoundException, UserErrorException, WebserviceException
from roost_job.models import model_places
from roost_job.models import model_settings as settings
from roost_job.models.model_settings import Framework, ResourceConfiguration

M = TypeVar("M", bound="Model")


class Model(object):
    """A registered model: `Model(workspace, name)` is its newest version, `Model(workspace, id="net:3")` that version."""

    Framework = Framework

    def __init__(
        self,
        workspace: Any,
        name: Optional[str] = None,
        id: Optional[str] = None,  # noqa: A002 - the SDK's name for it
        tags: Any = None,
        properties: Any = None,
        version: Optional[int] = None,
        run_id: Optional[str] = None,
        model_framework: Optional[str] = None,
        expand: bool = True,  # noqa: ARG002 - what belongs to it is looked up when it is asked for
        **kwargs: Any,
    ) -> None:
        self._workspace = workspace
        self._facts: Dict[str, Any] = dict(kwargs.get("_facts") or {})
        if not self._facts:
            given: Dict[str, Any] = {"run_id": run_id, "framework": model_framework}
            given["tags"], given["properties"] = (
                settings.wanted("tags", tags),
                settings.wanted("properties", properties),
            )
            self._facts = _find(self._link(), name, id, version, given)

    @classmethod
    def _of(cls: Type[M], workspace: Any, facts: Mapping[str, Any]) -> M:
        return cls(workspace, _facts=facts)

    def _link(self) -> Any:
        return link_of(self._workspace)

    # ---- what it is

    @property
    def workspace(self) -> Any:
        return self._workspace

    @property
    def id(self) -> str:
        """`name:version`."""
        return "%s:%d" % (self.name, self.version)

    @property
    def name(self) -> str:
        return str(self._facts["name"])

    @property
    def version(self) -> int:
        return int(self._facts["version"])

    @property
    def description(self) -> Optional[str]:
        return self._facts.get("description") or None

    @property
    def tags(self) -> Dict[str, str]:
        return dict(self._facts.get("tags") or {})

    @property
    def properties(self) -> Dict[str, str]:
        return dict(self._facts.get("properties") or {})

    @property
    def model_framework(self) -> str:
        return str(self._facts.get("framework") or Framework.CUSTOM)

    @property
    def model_framework_version(self) -> Optional[str]:
        return self._facts.get("framework_version") or None

    @property
    def resource_configuration(self) -> Optional[ResourceConfiguration]:
        found = self._facts.get("resources") or {}
        if all(found.get(name) is None for name in ("cpu", "memory_gb", "gpu")):
            return None
        return ResourceConfiguration(found.get("cpu"), found.get("memory_gb"), found.get("gpu"))

    @property
    def created_time(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(float(self._facts["created_at"]), datetime.timezone.utc)

    @property
    def created_by(self) -> Dict[str, str]:
        return {"userName": str(self._facts.get("user") or "")}

    @property
    def run_id(self) -> Optional[str]:
        """Id of the run that made it; None for a model that a person brought."""
        return self._facts.get("run_id") or None

    @property
    def experiment_name(self) -> Optional[str]:
        return self._facts.get("experiment") or None

    @property
    def parent_id(self) -> Optional[str]:
        """Id of the model that it was made from, for example by an export."""
        return self._facts.get("parent") or None

    @property
    def run(self) -> Any:
        """The run that made it; in a job the job's own run, or None."""
        from roost_job.run import Run  # imported here, since runs register models: no import cycle

        job = job_here()
        return Run.get_context() if job is not None and job.run_id == self.run_id else None

    @property
    def datasets(self) -> Dict[str, List[Any]]:
        """The datasets that it was made with, by purpose. Unregistered ones are left out."""
        found: Dict[str, List[Any]] = {}
        for purpose, dataset_id in self._facts.get("datasets") or ():
            dataset = self._dataset(dataset_id)
            if dataset is not None:
                found.setdefault(purpose, []).append(dataset)
        return found

    @property
    def sample_input_dataset(self) -> Any:
        return self._dataset(self._facts.get("sample_input"))

    @property
    def sample_output_dataset(self) -> Any:
        return self._dataset(self._facts.get("sample_output"))

    def _dataset(self, dataset_id: Optional[str]) -> Any:
        if not dataset_id:
            return None
        from roost_job.data.dataset_factory import Dataset  # only for scripts that use data: it reads tables

        try:
            return Dataset.get_by_id(self._workspace, dataset_id)
        except UserErrorException:
            return None

    @property
    def url(self) -> str:
        """Identifies its content: equal versions have the same."""
        return "aml://asset/%s" % self._facts["manifest"]

    @property
    def mime_type(self) -> str:
        return "application/x-python"

    @property
    def unpack(self) -> bool:
        """True for an archive to be unpacked: always False."""
        return False

    # ---- the registry

    @classmethod
    def register(
        cls: Type[M],
        workspace: Any,
        model_path: str,
        model_name: str,
        tags: Any = None,
        properties: Any = None,
        description: Optional[str] = None,
        datasets: Any = None,
        model_framework: Optional[str] = None,
        model_framework_version: Optional[str] = None,
        child_paths: Optional[Sequence[str]] = None,
        sample_input_dataset: Any = None,
        sample_output_dataset: Any = None,
        resource_configuration: Optional[ResourceConfiguration] = None,
        **kwargs: Any,
    ) -> M:
        """Registers a file or folder of this machine as the next version of a name. Stored content is not sent again."""
        files = settings.local_files(model_path, child_paths)
        about = described(
            workspace,
            tags=tags,
            properties=properties,
            description=description,
            datasets=datasets,
            model_framework=model_framework,
            model_framework_version=model_framework_version,
            sample_input_dataset=sample_input_dataset,
            sample_output_dataset=sample_output_dataset,
            resource_configuration=resource_configuration,
            _parent=kwargs.get("_parent"),
        )
        print("Registering model %s" % model_name)
        asked = dict(about, name=model_name, key=settings.new_key(), files=files)
        return cls._of(workspace, link_of(workspace).ask("model_register", **asked))

    @classmethod
    def list(
        cls: Type[M],
        workspace: Any,
        name: Optional[str] = None,
        tags: Any = None,
        properties: Any = None,
        run_id: Optional[str] = None,
        latest: bool = False,
        dataset_id: Optional[str] = None,
        expand: bool = True,  # noqa: ARG003 - what belongs to a model is looked up when it is asked for
        page_count: int = 255,  # noqa: ARG003 - there are no pages to be waited for
        model_framework: Optional[str] = None,
    ) -> "List[M]":
        """Models, newest first; `latest` for the newest version of each name only."""
        found = link_of(workspace).ask(
            "models",
            name=name,
            tags=settings.wanted("tags", tags),
            properties=settings.wanted("properties", properties),
            run_id=run_id,
            latest=bool(latest),
            dataset_id=dataset_id,
            framework=model_framework,
        )
        return [cls._of(workspace, facts) for facts in found]

    def update(
        self,
        tags: Any = None,
        description: Optional[str] = None,
        sample_input_dataset: Any = None,
        sample_output_dataset: Any = None,
        resource_configuration: Optional[ResourceConfiguration] = None,
    ) -> None:
        """Replaces these; arguments that are not given stay unchanged."""
        self._change(
            tags=None if tags is None else settings.labels("tags", tags),
            replace_tags=True if tags is not None else None,
            description=description,
            sample_input=settings.dataset_id("sample input dataset", sample_input_dataset, self._workspace),
            sample_output=settings.dataset_id("sample output dataset", sample_output_dataset, self._workspace),
            resources=settings.resources(resource_configuration),
        )

    def update_tags_properties(self, add_tags: Any = None, remove_tags: Any = None, add_properties: Any = None) -> None:
        if isinstance(remove_tags, str):
            raise UserErrorException("remove_tags must be a list of names, got the text %.80r." % remove_tags)
        self._change(
            tags=settings.labels("add_tags", add_tags),
            remove_tags=[str(each) for each in remove_tags or ()],
            properties=settings.labels("add_properties", add_properties),
        )

    def add_tags(self, tags: Any) -> None:
        self.update_tags_properties(add_tags=tags)

    def remove_tags(self, tags: Sequence[str]) -> None:
        self.update_tags_properties(remove_tags=tags)

    def add_properties(self, properties: Any) -> None:
        """Adds properties; an existing one cannot be changed."""
        self.update_tags_properties(add_properties=properties)

    def add_dataset_references(self, datasets: Any) -> None:
        """`[(purpose, dataset)]`: adds datasets that it was made with."""
        self._change(datasets=settings.datasets(datasets, self._workspace))

    def delete(self) -> None:
        """Removes this version from the registry; WebserviceException while a service uses it. A job cannot delete a model."""
        if isinstance(self._workspace, JobWorkspace):
            outside.refuse_serving("Model.delete")
        self._link().ask("model_delete", name=self.name, version=self.version)

    def _change(self, **changes: Any) -> None:
        given = {key: value for key, value in changes.items() if value is not None}
        self._facts = dict(self._link().ask("model_change", name=self.name, version=self.version, **given))

    def serialize(self) -> Dict[str, Any]:
        """As plain values."""
        resources = self.resource_configuration
        return {
            "createdTime": self.created_time.isoformat(),
            "createdBy": self.created_by,
            "description": self.description,
            "id": self.id,
            "mimeType": self.mime_type,
            "name": self.name,
            "framework": self.model_framework,
            "frameworkVersion": self.model_framework_version,
            "tags": self.tags,
            "properties": self.properties,
            "unpack": self.unpack,
            "url": self.url,
            "version": self.version,
            "experimentName": self.experiment_name,
            "runId": self.run_id,
            "parentModelId": self.parent_id,
            "datasets": [{"name": name, "id": each} for name, each in self._facts.get("datasets") or ()],
            "resourceConfiguration": resources.serialize() if resources else None,
            "sampleInputDatasetId": self._facts.get("sample_input") or None,
            "sampleOutputDatasetId": self._facts.get("sample_output") or None,
        }

    @classmethod
    def deserialize(cls: Type[M], workspace: Any, model_payload: Mapping[str, Any]) -> M:
        """The registered model that `serialize` was called on."""
        return cls(workspace, id=str(model_payload["id"]))

    def __repr__(self) -> str:
        return "%s(workspace=%r, name=%s, id=%s, version=%s, tags=%s, properties=%s)" % (
            type(self).__name__,
            self._workspace,
            self.name,
            self.id,
            self.version,
            self.tags,
            self.properties,
        )

    # ---- names that only the SDK has, and names that do not exist

    @staticmethod
    def deploy(*args: Any, **kwargs: Any) -> Any:  # noqa: ARG004 - whatever is given, the answer is the same
        """Only in the SDK: a job cannot deploy."""
        outside.refuse_serving("Model.deploy")

    @staticmethod
    def profile(*args: Any, **kwargs: Any) -> Any:  # noqa: ARG004
        outside.refuse_serving("Model.profile")

    @staticmethod
    def package(*args: Any, **kwargs: Any) -> Any:  # noqa: ARG004
        outside.refuse_serving("Model.package")

    def get_sas_urls(self) -> NoReturn:
        """Left out on purpose."""
        fact, hint = absent.said("azureml.core.Model.get_sas_urls")
        raise outside.NotInRoost(fact, hint=hint)

    # ---- its files

    def download(self, target_dir: str = ".", exist_ok: bool = False, exists_ok: Optional[bool] = None) -> str:
        """Downloads its files into a folder; returns the path of the file, or of the folder that has them."""
        replace = bool(exist_ok if exists_ok is None else exists_ok)
        folder = os.path.abspath(os.path.expanduser(os.fsdecode(target_dir)))
        asked = {"name": self.name, "version": self.version, "path": folder, "exist_ok": replace}
        files = self._link().ask("model_download", **asked)
        return os.path.commonpath([os.path.join(os.fsdecode(target_dir), each) for each in files])

    @classmethod
    def get_model_path(cls, model_name: str, version: Optional[int] = None, _workspace: Any = None) -> str:
        """The model's path on this machine: in a service its own folder; in a run it is downloaded to
        `azureml-models/<name>/<version>/`; elsewhere an existing download, or `./<name>`."""
        if not isinstance(model_name, str) or not model_name:
            raise WebserviceException("model_name must be text that is not empty, got %.80r." % (model_name,))
        if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
            raise WebserviceException("version should be an int, got %.80r." % (version,))
        workspace = _workspace
        if workspace is None:
            served = model_places.served(model_name, version)
            if served is not None:
                return served
            job = job_here()
            workspace = experiment_of(job).workspace if job is not None else None
        if workspace is None:
            return model_places.local(model_name, version)
        if version is None:
            version = cls(workspace, model_name).version
        folder = os.path.join(model_places.FOLDER, model_name, str(version))
        if not os.path.isdir(folder) or not os.listdir(folder):  # it is complete when it exists
            asked = {"name": model_name, "version": version, "path": os.path.abspath(folder)}
            link_of(workspace).ask("model_place", **asked)
        return os.path.commonpath([os.path.join(at, each) for at, _, files in os.walk(folder) for each in files])


def link_of(workspace: Any) -> Any:
    found = getattr(workspace, "_model_link", None)
    if found is None:
        raise UserErrorException(
            "workspace must be a Workspace, got %s." % type(workspace).__name__,
            hint="In a job: Run.get_context().experiment.workspace",
        )
    return found()


def described(workspace: Any, **given: Any) -> Dict[str, Any]:
    """The settings of a model in the form of the control plane; checked before any byte is sent. After all checks, unregistered
    datasets are saved to the workspace."""
    if given["model_framework_version"] is not None and given["model_framework"] is None:
        raise WebserviceException("Model framework version cannot be provided without a valid framework")
    said = {
        "tags": settings.labels("tags", given["tags"]),
        "properties": settings.labels("properties", given["properties"]),
        "description": given["description"],
        "framework": given["model_framework"],
        "framework_version": given["model_framework_version"],
        "resources": settings.resources(given["resource_configuration"]),
        "parent": given["_parent"],
    }
    said["datasets"] = settings.datasets(given["datasets"], workspace)
    for name in ("sample_input", "sample_output"):
        what = "%s dataset" % name.replace("_", " ")
        said[name] = settings.dataset_id(what, given["%s_dataset" % name], workspace)
    meant = settings.likely_framework(given["model_framework"])
    if meant is not None:
        sys.stderr.write(
            "The framework %.80r is kept as it is; only as %r could the model be deployed with no code.\n"
            % (str(given["model_framework"]), meant)
        )
    for name in ("framework", "framework_version"):
        said[name] = None if said[name] is None else str(said[name])
    return {name: value for name, value in said.items() if value is not None}


def _find(
    link: Any, name: Optional[str], model_id: Optional[str], version: Any, given: Mapping[str, Any]
) -> Dict[str, Any]:
    if not name and not model_id:
        raise WebserviceException("Error, one of id or name must be provided.")
    if model_id:
        name, _, number = str(model_id).rpartition(":")
        if not name or not number.isdigit():
            raise ModelNotFoundException(
                "ModelNotFound: %.200r is not the id of a model." % model_id,
                hint="Ids are NAME:VERSION, such as net:3.",
            )
        version = int(number)
    if isinstance(version, str) and version.isdecimal():  # from a script's arguments, as Azure's service accepted it
        version = int(version)
    if model_id or not any(given.values()):
        return dict(link.ask("model", name=name, version=version))
    found = link.ask("models", name=name, limit=1 if version is None else None, **given)
    found = [each for each in found if version in (None, each["version"])]
    if not found:
        asked = ", ".join("%s %s" % (key, value) for key, value in given.items() if value)
        words = "No version of model %r has %s." % (name, asked)
        if version is not None:
            words = "Version %s of model %r does not have %s." % (version, name, asked)
        raise ModelNotFoundException("ModelNotFound: " + words)
    # With name and version, so that the use by this run is recorded.
    return dict(link.ask("model", name=name, version=found[0]["version"]))
