"""`Webservice`: a deployed model that answers requests. `Webservice(ws, name)` finds one and returns an object of its own class.

The common part is here; `webservice_kinds.py` has AciWebservice, AksWebservice and LocalWebservice, `aks_endpoints.py` the one
with several versions. The printed texts are the Azure ML SDK v1's.
"""

# ruff: noqa: ARG002, ARG004
# Signatures are those of the Azure ML SDK v1: parameters that mean nothing here are accepted without effect.

import builtins
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from roost.domain.endpoints import Auth, Endpoint, EndpointKind, EndpointSpec, Version, checked_name
from roost.domain.errors import EndpointNotFound, InvalidEndpoint
from roost.sdk import late
from roost.sdk.calls import endpoints
from roost.sdk.core import absent
from roost.sdk.core.workspaces import Workspace
from roost.sdk.services import webservice_waiting
from roost.sdk.services.webservice_requests import AskingOfService
from roost.sdk.services.webservice_settings import (
    LocalWebserviceDeploymentConfiguration,
    WebserviceDeploymentConfiguration,
    texts,
)
from roost_job.context import JobWorkspace
from roost_job.listing import some
from roost_job.outside import refuse_serving

if TYPE_CHECKING:
    from roost.sdk.environments.environments import Environment
    from roost.sdk.models.models import Model
    from roost.sdk.services.inference import InferenceConfig

T = TypeVar("T")
Labels = Mapping[str, str | None] | Sequence[str | Sequence[str]] | str
"""A filter: names, or names with values, as a dict or in the SDK's own form: `["team", ["stage", "test"]]`."""
_NO_IMAGES = "Roost makes no images: a service runs its script in its environment."


class Webservice(AskingOfService):
    """A service of a workspace; raises WebserviceException when the name does not exist."""

    _webservice_type: ClassVar[str] = ""
    """The SDK's name for it in printed texts."""

    def __new__(cls, workspace: Workspace, name: str, *args: object, **kwargs: object) -> "Webservice":
        found = _look(workspace, name)
        right = class_of(found.spec.kind)
        if not issubclass(right, cls):
            raise EndpointNotFound(
                f"WebserviceNotFound: {name!r} is no {cls.__name__} but of type {found.spec.kind.value}.",
                hint=f"Webservice(workspace, {name!r}) finds it.",
            )
        made = super().__new__(right)
        made._record = found
        return made

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace = workspace
        self._held = None
        self._take(self._record)

    @classmethod
    def _of(cls, workspace: Workspace, record: Endpoint) -> "Webservice":
        made = object.__new__(class_of(record.spec.kind))
        made._record = record
        Webservice.__init__(made, workspace, record.name)
        return made

    # ---- deploying and finding

    @staticmethod
    def deploy(
        workspace: Workspace,
        name: str,
        model_paths: Sequence[str],
        image_config: "InferenceConfig",
        deployment_config: WebserviceDeploymentConfiguration | None = None,
        deployment_target: object = None,
        overwrite: bool = False,
    ) -> "Webservice":
        """Registers local files or folders as models and deploys them. The older form of `Model.deploy`."""
        return Webservice.deploy_from_model(
            workspace, name, list(model_paths), image_config, deployment_config, deployment_target, overwrite
        )

    @staticmethod
    def deploy_from_model(
        workspace: Workspace,
        name: str,
        models: "Sequence[Model | str]",
        image_config: "InferenceConfig",
        deployment_config: WebserviceDeploymentConfiguration | None = None,
        deployment_target: object = None,
        overwrite: bool = False,
    ) -> "Webservice":
        """The older form of `Model.deploy`; its `image_config` is an InferenceConfig."""
        if not isinstance(image_config, late.InferenceConfig):
            raise InvalidEndpoint(
                f"image_config is {type(image_config).__name__}. {_NO_IMAGES}",
                hint="Give InferenceConfig(entry_script=…, environment=…), or call Model.deploy with it.",
            )
        return late.deploying.deploy(
            workspace, name, models, image_config, deployment_config, deployment_target, overwrite=overwrite
        )

    @staticmethod
    def deploy_local_from_model(
        workspace: Workspace,
        name: str,
        models: "Sequence[Model | str]",
        image_config: "InferenceConfig",
        deployment_config: WebserviceDeploymentConfiguration | None = None,
        wait: bool = False,
    ) -> "Webservice":
        """The older form of `Model.deploy` with a LocalWebservice."""
        chosen = deployment_config or LocalWebserviceDeploymentConfiguration()
        made = Webservice.deploy_from_model(workspace, name, models, image_config, chosen)
        if wait:
            made.wait_for_deployment(show_output=True)
        return made

    @staticmethod
    def deploy_from_image(
        workspace: Workspace,
        name: str,
        image: object,
        deployment_config: WebserviceDeploymentConfiguration | None = None,
        deployment_target: object = None,
        overwrite: bool = False,
    ) -> NoReturn:
        """Not supported on purpose."""
        absent.refuse("azureml.core.Webservice.deploy_from_image", InvalidEndpoint)

    @staticmethod
    def list(
        workspace: Workspace,
        compute_type: str | None = None,
        image_name: str | None = None,
        image_id: str | None = None,
        model_name: str | None = None,
        model_id: str | None = None,
        tags: Labels | None = None,
        properties: Labels | None = None,
        image_digest: str | None = None,
    ) -> "builtins.list[Webservice]":
        """The services of a workspace, by name; only those that match all given filters."""
        _check_workspace(workspace)
        kinds = [kind.value.upper() for kind in EndpointKind]
        if compute_type and str(compute_type).upper() not in kinds:
            raise InvalidEndpoint(f"Invalid compute type {compute_type!r}.", hint=f"It is one of: {', '.join(kinds)}.")
        if image_name or image_id or image_digest:
            raise InvalidEndpoint(f"Services cannot be found by image. {_NO_IMAGES}", hint="Give model_name or tags.")
        found = [
            each
            for each in endpoints.listing(workspace)
            if (not compute_type or each.spec.kind.value.upper() == compute_type.upper())
            and _uses(each.spec, model_name, model_id)
            and _fits(each.spec.tags, _wanted("tags", tags))
            and _fits(each.spec.properties, _wanted("properties", properties))
        ]
        return [Webservice._of(workspace, each) for each in sorted(found, key=lambda each: each.name)]

    # ---- description

    @property
    def models(self) -> "builtins.list[Model]":
        """The models that it serves, read now."""
        named = {each: None for version in self._record.spec.versions for each in version.models}
        return [late.Model(self.workspace, id=each) for each in named]

    @property
    def environment(self) -> "Environment | None":
        """The environment of its script; None for a Python of this machine as it is."""
        use = self._version.environment
        return late.environments.of_run(use, None, use.lock, lambda: "") if use is not None else None

    @property
    def _version(self) -> Version:
        """The only version, or the default one of several."""
        versions = self._record.spec.versions
        chosen = self._record.spec.settings.get("default_version")
        return next((each for each in versions if each.name == chosen), versions[0] if versions else Version())

    def update_deployment_state(self) -> None:
        """Reads its state and updates this object."""
        self._take(_look(self.workspace, self.name))

    def wait_for_deployment(self, show_output: bool = False, timeout_sec: float | None = None) -> None:
        """Waits until it serves, with the last update; WebserviceException gives the reason when it does not."""
        self._settle(show_output, timeout_sec)
        print(f'{self._webservice_type} service creation operation finished, operation "Succeeded"')

    def _settle(self, show_output: bool, timeout_sec: float | None) -> None:
        try:
            webservice_waiting.wait(self.workspace, self.name, show_output, timeout_sec)
        finally:
            self.update_deployment_state()

    def get_logs(self, num_lines: int = 5000, init: bool = False) -> str:
        """The last lines of a replica's output since its start. After a failed update: the failed replica's, with a line
        about the failure. Otherwise all serving replicas', with their names if there are several; else the newest one's."""
        said = found_or_told(self.workspace, self.name, lambda: endpoints.logs(self.workspace, self.name, num_lines))
        return f"{said['note']}\n{said['text']}" if said["note"] else said["text"]

    # ---- changes

    def delete(self) -> None:
        """Deletes it: when this returns, its processes are gone. Prints a note, without an error, when it no longer exists."""
        try:
            endpoints.delete(self.workspace, self.name)
        except EndpointNotFound:
            print(f"No service with name {self.name} found to delete.")
        self._held = self.error = None
        self.state = "Deleting"

    def add_tags(self, tags: Mapping[str, str]) -> None:
        new = texts("tags", tags)
        _say_replaced(self.tags, new)
        self._change(lambda spec: replace(spec, tags={**spec.tags, **new}))
        print("Webservice tag add operation complete.")

    def remove_tags(self, tags: str | Sequence[str]) -> None:
        keys = [tags] if isinstance(tags, str) else [str(key) for key in tags]
        for key in keys:
            if key not in self.tags:
                print(f"Tag with key {key} not found.")
        self._change(
            lambda spec: replace(spec, tags={key: value for key, value in spec.tags.items() if key not in keys})
        )
        print("Webservice tag remove operation complete.")

    def add_properties(self, properties: Mapping[str, str]) -> None:
        """Adds properties; existing ones keep their values."""
        new = texts("properties", properties)
        self._change(lambda spec: replace(spec, properties=_added(spec.properties, new)))
        print("Webservice add properties operation complete.")

    def _change(self, change: Callable[[EndpointSpec], EndpointSpec]) -> None:
        """Sends the currently requested settings with that change."""
        now = _look(self.workspace, self.name).spec
        self._take(endpoints.put(self.workspace, self.name, change(now), update=True))

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Changes it; each kind has its own parameters."""
        raise NotImplementedError

    def _update(
        self,
        *,
        version: Callable[[Version], Version] | None = None,
        auth: Auth | None = None,
        settings: Mapping[str, Any] | None = None,
        collect_model_data: bool | None = None,
        **given: Any,
    ) -> None:
        """The common part of all `update` methods: tags replace, properties add, None changes nothing."""
        said = [*(value for value in given.values() if value is not None), version, auth, collect_model_data]
        if not any(each is not None for each in said) and not settings:
            raise InvalidEndpoint("No parameters provided to update.", hint="service.update(models=[model], …)")

        def change(spec: EndpointSpec) -> EndpointSpec:
            versions = tuple(
                version(each) if version and each.name == self._version.name else each for each in spec.versions
            )
            return replace(
                spec,
                versions=versions,
                auth=auth or spec.auth,
                recorded=spec.recorded if collect_model_data is None else float(collect_model_data),
                tags=spec.tags if given.get("tags") is None else texts("tags", given["tags"]),
                properties=_added(spec.properties, texts("properties", given.get("properties"))),
                description=given.get("description") or spec.description,
                settings={**spec.settings, **(settings or {})},
            )

        self._change(change)

    # ---- inside

    def serialize(self) -> dict[str, Any]:
        """The service under Azure's keys."""
        return {
            "name": self.name,
            "description": self.description,
            "tags": self.tags,
            "properties": self.properties,
            "state": self.state,
            "createdTime": self.created_time.isoformat(),
            "updatedTime": self.updated_time.isoformat(),
            "error": self.error,
            "computeType": self.compute_type,
            "workspaceName": self.workspace.name,
            "imageId": None,
            "imageDigest": None,
            "imageDetails": None,
            "scoringUri": self.scoring_uri,
            "createdBy": self.created_by,
            **self._properties(),
        }

    @classmethod
    def deserialize(cls, workspace: Workspace, webservice_payload: Mapping[str, Any]) -> "Webservice":
        """The service on which `serialize` was called, in its current state."""
        return cls(workspace, str(webservice_payload["name"]))

    def _properties(self) -> dict[str, Any]:
        return {}

    def _take(self, record: Endpoint) -> None:
        spec = record.spec
        self._record = record
        self.name = record.name
        self.compute_type = spec.kind.value
        self.state = record.state.value
        self.error = record.error or None
        self.description = spec.description
        self.tags = dict(spec.tags)
        self.properties = dict(spec.properties)
        self.created_by = record.user
        self.created_time = datetime.fromtimestamp(record.created_at, UTC)
        self.updated_time = datetime.fromtimestamp(record.updated_at, UTC)
        self.auth_enabled = spec.auth is Auth.KEY
        self.token_auth_enabled = spec.auth is Auth.TOKEN
        self.image = self.image_id = self.image_digest = None
        base = f"http://{endpoints.HOST}:{record.port}" if record.port else ""
        self.scoring_uri = f"{base}{spec.kind.score_path(record.name)}" if base else None
        self.swagger_uri = f"{self.scoring_uri.removesuffix('score')}swagger.json" if self.scoring_uri else None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(workspace={self.workspace!r}, name={self.name!r}, compute_type={self.compute_type!r}, "
            f"state={self.state!r}, scoring_uri={self.scoring_uri!r}, tags={self.tags!r}, "
            f"properties={self.properties!r}, created_by={self.created_by!r})"
        )


def class_of(kind: EndpointKind) -> type[Webservice]:
    kinds: dict[EndpointKind, type[Webservice]] = {
        EndpointKind.ACI: late.AciWebservice,
        EndpointKind.AKS: late.AksWebservice,
        EndpointKind.LOCAL: late.LocalWebservice,
        EndpointKind.AKS_ENDPOINT: late.AksEndpoint,
    }
    return kinds[kind]


def _look(workspace: Workspace, name: object) -> Endpoint:
    _check_workspace(workspace)
    return found_or_told(workspace, name, lambda: endpoints.get(workspace, checked_name(name)))


def found_or_told(workspace: Workspace, name: object, ask: Callable[[], T]) -> T:
    """The result of `ask`; when there is no such service, EndpointNotFound with the text that scripts look for."""
    with contextlib.suppress(EndpointNotFound):
        return ask()
    known = [each.name for each in endpoints.listing(workspace)]
    raise EndpointNotFound(
        f"WebserviceNotFound: Webservice with name {name} not found in provided workspace.",
        hint=f"There are: {some(sorted(known), 20)}." if known else "Model.deploy(…) makes one.",
        cli_hint=f"There are: {some(sorted(known), 20)}." if known else "roost endpoint deploy makes one.",
    )


def _check_workspace(workspace: object) -> None:
    if isinstance(workspace, JobWorkspace):
        refuse_serving("Webservice")
    if not isinstance(workspace, Workspace):
        raise InvalidEndpoint(
            f"workspace must be a Workspace, got {type(workspace).__name__}.", hint="Workspace.from_config() gives one."
        )


def _uses(spec: EndpointSpec, name: str | None, model_id: str | None) -> bool:
    ids = [each for version in spec.versions for each in version.models]
    named = not name or any(each.rpartition(":")[0] == name for each in ids)
    return named and (not model_id or model_id in ids)


def _wanted(what: str, given: Labels | None) -> dict[str, str | None]:
    """The filter by name; None for any value."""
    if given is None or isinstance(given, str | Mapping):
        return dict(given) if isinstance(given, Mapping) else {given: None} if given else {}
    found: dict[str, str | None] = {}
    for each in given:
        pair = [each] if isinstance(each, str) else list(each) if isinstance(each, Sequence) else []
        if not 1 <= len(pair) <= 2:
            raise InvalidEndpoint(
                f"{what} has {each!r}; each is a name, or a name and a value.", hint="['team', ['stage', 'test']]"
            )
        found[str(pair[0])] = str(pair[1]) if len(pair) == 2 else None
    return found


def _fits(has: Mapping[str, str], needed: Mapping[str, str | None]) -> bool:
    return all(key in has and value in (None, has[key]) for key, value in needed.items())


def _added(there: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """Adds properties; existing ones cannot be changed."""
    for key, value in new.items():
        if there.get(key, value) != value:
            raise InvalidEndpoint(
                f"Property {key!r} is {there[key]!r} and cannot become {value!r}.",
                hint="Properties stay as they were set; tags can be changed.",
            )
    return {**there, **new}


def _say_replaced(there: Mapping[str, str], new: Mapping[str, str]) -> None:
    for key, value in new.items():
        if key in there:
            print(f"Replacing tag {key} -> {there[key]} with {key} -> {value}")
