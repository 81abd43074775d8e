"""Makes a service from models and a script: `Model.deploy`, and the changes of `update`. All errors are reported before a
byte is sent; then the folder is snapshot and one request deploys the service.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from roost.domain.endpoints import DEFAULT, Endpoint, EndpointKind, EndpointSpec, Limits, Version, checked, checked_name
from roost.domain.errors import EndpointConflict, InvalidEndpoint
from roost.domain.no_code import FLOORS
from roost.domain.no_code import limits as registered
from roost.domain.sizes import beyond
from roost.sdk import late
from roost.sdk.calls import endpoints
from roost.sdk.compute.targets import ComputeTarget, machine_of
from roost.sdk.core import absent
from roost.sdk.core.workspaces import Workspace
from roost.sdk.services.webservice_settings import (
    AciServiceDeploymentConfiguration,
    AksEndpointDeploymentConfiguration,
    AksServiceDeploymentConfiguration,
    WebserviceDeploymentConfiguration,
)
from roost_job.context import JobWorkspace
from roost_job.outside import refuse_serving

if TYPE_CHECKING:
    from roost.sdk.models.models import Model
    from roost.sdk.services.inference import InferenceConfig
    from roost.sdk.services.webservices import Webservice

Change = Callable[[Version], Version]
SOURCE = "source_directory"
"""Setting of a local service: the folder that `reload` reads again."""
_SUBMITTED = "Request submitted, please run wait_for_deployment(show_output=True) to get deployment status."


def deploy(
    workspace: Workspace,
    name: str,
    models: "Sequence[Model | str]",
    inference_config: "InferenceConfig | None" = None,
    deployment_config: WebserviceDeploymentConfiguration | None = None,
    deployment_target: object = None,
    overwrite: bool = False,
    show_output: bool = False,
) -> "Webservice":
    """Requests a service and returns at once; `wait_for_deployment` waits for it."""
    config = config_of(deployment_config, deployment_target)
    _check_workspace(workspace)
    replaces = _free(workspace, name, config, overwrite)
    planned = replace(_spec(config, deployment_target), versions=(_named(config, Version(entry_script="-")),))
    checked(_limited(config, planned))
    version = version_of(workspace, name, models, inference_config, config)
    spec = _limited(config, replace(planned, versions=(_named(config, version),)))
    if config._kind is EndpointKind.LOCAL and inference_config is not None:
        spec = replace(spec, settings={**spec.settings, SOURCE: inference_config._folder()})
    return _ask(workspace, name, spec, config, replaces, show_output)


def deploy_version(
    workspace: Workspace,
    name: str,
    version: Version,
    deployment_config: WebserviceDeploymentConfiguration | None,
    deployment_target: object,
) -> "Webservice":
    """Deploys another service with an existing version."""
    config = config_of(deployment_config, deployment_target)
    replaces = _free(workspace, name, config, False)
    bare = replace(version, limits=Limits()) if version.handler == "script" else version
    spec = replace(_spec(config, deployment_target), versions=(_named(config, bare),))
    return _ask(workspace, name, _limited(config, spec), config, replaces, False)


def version_of(
    workspace: Workspace,
    name: str,
    models: "Sequence[Model | str]",
    inference_config: "InferenceConfig | None",
    config: WebserviceDeploymentConfiguration | None,
) -> Version:
    """The version for these models and this script; without a script, the one for the model's framework."""
    if inference_config is not None:
        _check_inference(inference_config)
        inference_config.check(name)
        ids = tuple(model.id for model in models_of(workspace, models))
        return replace(inference_config.version(workspace, name), models=ids)
    found = models_of(workspace, models)
    if len(found) != 1:
        raise InvalidEndpoint(
            f"{len(found)} models are given and no inference_config; without one exactly one model can be deployed.",
            hint="Give InferenceConfig(entry_script='score.py', environment=…).",
        )
    said = config is not None and any(getattr(config, each, None) is not None for each in ("cpu_cores", "memory_gb"))
    return late.no_code.version_for(workspace, found[0]._record, limits=config.limits() if config and said else None)


def change_of(
    workspace: Workspace,
    name: str,
    now: Version,
    models: "Sequence[Model | str] | None",
    inference_config: "InferenceConfig | None",
) -> Change | None:
    """The change of a version for new models or another script; None for no change. The script stays when only models are
    given."""
    if models is None and inference_config is None:
        return None
    if inference_config is None and now.handler == "script":
        ids = tuple(model.id for model in models_of(workspace, models or []))
        return lambda version: replace(version, models=ids)
    made = version_of(workspace, name, list(now.models) if models is None else models, inference_config, None)

    own = None
    if made.handler != "script":
        own = registered(late.Model(workspace, id=now.models[0])._record, now.handler)[0]

    def change(version: Version) -> Version:
        resized = replace(
            made,
            name=version.name,
            traffic=version.traffic,
            limits=_resized(version.limits, own, made.limits) if own else version.limits,
            tags=version.tags,
            description=made.description or version.description,
        )
        return roomy(resized)

    return change


def _resized(now: Limits, own: Limits, new: Limits) -> Limits:
    """The limits for a new model with no code: sizes equal to the former model's `own` become the new model's; sizes that a
    user set stay."""
    sizes = ("cpu", "memory_gb", "gpu")
    return replace(now, **{each: getattr(new, each) for each in sizes if getattr(now, each) == getattr(own, each)})


def taken_again(workspace: Workspace, record: Endpoint) -> Change:
    """The source folder of a local service, read again; no change for a service without a script."""
    version, folder = record.spec.versions[0], str(record.spec.settings.get(SOURCE) or "")
    if version.handler != "script":
        return lambda now: now
    if not os.path.isfile(os.path.join(folder, version.entry_script)):
        raise InvalidEndpoint(
            f"The folder {folder!r} that service {record.name!r} was deployed from has no {version.entry_script!r} any more.",
            hint="service.update(inference_config=…) takes it from elsewhere.",
        )
    snapshot = late.inference.take(folder, workspace._connection, version.entry_script)
    return lambda now: replace(now, snapshot=snapshot)


def models_of(workspace: Workspace, models: "Sequence[Model | str]") -> "list[Model]":
    """Registered models: given as objects, by id (`name:version`, `name`), or as local files and folders, which are
    registered."""
    if isinstance(models, str | late.Model) or not isinstance(models, Sequence):
        raise InvalidEndpoint(f"models must be a list, got {type(models).__name__}.", hint="models=[model]")
    for each in models:
        if not isinstance(each, str | os.PathLike | late.Model):
            raise InvalidEndpoint(f"models has {type(each).__name__}; each is a Model.", hint="Model(workspace, name)")
        if isinstance(each, late.Model) and each.workspace.name != workspace.name:
            raise InvalidEndpoint(
                f"Model {each.id} is of workspace {each.workspace.name!r}, the service of {workspace.name!r}.",
                hint="Register it there: Model.register(workspace, model.download(), model.name).",
            )
    return [each if isinstance(each, late.Model) else _model_of(workspace, os.fspath(each)) for each in models]


def _model_of(workspace: Workspace, text: str) -> "Model":
    if os.path.exists(text):
        return late.Model.register(workspace, text, os.path.basename(os.path.abspath(text)))
    return late.Model(workspace, id=text) if ":" in text else late.Model(workspace, name=text)


def config_of(given: object, target: object) -> WebserviceDeploymentConfiguration:
    """The configuration; the SDK's default when None: AKS for a target, else ACI."""
    if given is None:
        return AciServiceDeploymentConfiguration() if target is None else AksServiceDeploymentConfiguration()
    if not isinstance(given, WebserviceDeploymentConfiguration):
        raise InvalidEndpoint(
            f"deployment_config is {type(given).__name__}.", hint="AciWebservice.deploy_configuration(…) makes one."
        )
    if target is not None and not isinstance(given, AksServiceDeploymentConfiguration):
        raise InvalidEndpoint(
            f"deployment_target is given with {type(given).__name__}, which has none.",
            hint="AksWebservice.deploy_configuration(…) goes with a target.",
        )
    given.validate_configuration()
    return given


def _check_inference(given: object) -> None:
    if not isinstance(given, late.InferenceConfig):
        raise InvalidEndpoint(
            f"inference_config is {type(given).__name__}.", hint="InferenceConfig(entry_script=…, environment=…)"
        )


def _check_workspace(given: object, what: str = "Model.deploy") -> None:
    if isinstance(given, JobWorkspace):
        refuse_serving(what)
    if not isinstance(given, Workspace):
        raise InvalidEndpoint(
            f"workspace must be a Workspace, got {type(given).__name__}.", hint="Workspace.from_config() gives one."
        )


def _free(workspace: Workspace, name: str, config: WebserviceDeploymentConfiguration, overwrite: bool) -> bool:
    """True when a service of that name is to be replaced; raises unless `overwrite`. Local ones are always replaced, as in
    the SDK."""
    there = endpoints.find(workspace, checked_name(name))
    if there is None:
        return overwrite
    local = there.spec.kind is EndpointKind.LOCAL and config._kind is EndpointKind.LOCAL
    if not (overwrite or local):
        raise EndpointConflict(
            f"Error, there is already a service with name {name} found in workspace {workspace.name}.",
            hint="Give overwrite=True to replace it, or change it: Webservice(workspace, name).update(…).",
            cli_hint="Give --overwrite to replace it, or change it: roost endpoint update.",
        )
    return True


def _spec(config: WebserviceDeploymentConfiguration, target: object) -> EndpointSpec:
    spec = config.spec()
    if target is None:
        return spec
    if not isinstance(target, ComputeTarget):
        raise InvalidEndpoint(
            f"deployment_target is {type(target).__name__}.", hint="AksCompute(workspace, name) gives one."
        )
    return replace(spec, settings={**spec.settings, "compute_target_name": target.name})


def _named(config: WebserviceDeploymentConfiguration, version: Version) -> Version:
    chosen = config.version_name if isinstance(config, AksEndpointDeploymentConfiguration) else None
    return replace(version, name=chosen or DEFAULT)


def _limited(config: WebserviceDeploymentConfiguration, spec: EndpointSpec) -> EndpointSpec:
    return replace(
        spec, versions=tuple(roomy(replace(each, limits=config.limits(each.limits))) for each in spec.versions)
    )


def roomy(version: Version) -> Version:
    """The version with at least the memory that Python and the framework of a model with no code need by themselves."""
    floor = FLOORS.get(version.handler, 0.0)
    return replace(version, limits=replace(version.limits, memory_gb=max(version.limits.memory_gb, floor)))


def _ask(
    workspace: Workspace,
    name: str,
    spec: EndpointSpec,
    config: WebserviceDeploymentConfiguration,
    overwrite: bool,
    show_output: bool,
) -> "Webservice":
    record = endpoints.put(workspace, name, spec, overwrite=overwrite)
    machine = machine_of(workspace)
    limits = (each.limits for each in spec.versions)
    said = (beyond(each.cpu, each.memory_gb, each.gpu, machine) for each in limits)
    for line in dict.fromkeys(filter(None, said)):
        print(line, file=sys.stderr)
    if step := config.openness():
        print(f"Service {name!r} asks for no key: whoever reaches its address can use it. {step}", file=sys.stderr)
    for which, value in config.keys().items():
        endpoints.renew_key(workspace, name, which, value)
    if show_output:
        print(_SUBMITTED)
    return late.Webservice._of(workspace, record)


class DeployingOfModel:
    """The methods of `Model` that make a service of it."""

    @staticmethod
    def deploy(
        workspace: Workspace,
        name: str,
        models: "Sequence[Model | str]",
        inference_config: "InferenceConfig | None" = None,
        deployment_config: WebserviceDeploymentConfiguration | None = None,
        deployment_target: object = None,
        overwrite: bool = False,
        show_output: bool = False,
    ) -> "Webservice":
        """Deploys models and a script, or one model with no code, as a service; returns at once."""
        return deploy(
            workspace,
            name,
            models,
            inference_config,
            deployment_config,
            deployment_target,
            overwrite=overwrite,
            show_output=show_output,
        )

    @staticmethod
    def profile(
        workspace: Workspace,
        profile_name: str,
        models: "Sequence[Model | str]",
        inference_config: "InferenceConfig",
        input_dataset: Any,
        cpu: float | None = None,
        memory_in_gb: float | None = None,
        description: str | None = None,
    ) -> Any:
        """Deploys it temporarily, sends each row of the dataset, and measures: `ModelProfile`."""
        _check_workspace(workspace, "Model.profile")
        return late.profiling.profile(
            workspace, profile_name, models, inference_config, input_dataset, cpu, memory_in_gb, description
        )

    @staticmethod
    def package(
        workspace: Workspace,  # noqa: ARG004 - all arguments lead to the same error
        models: "Sequence[Model | str]",  # noqa: ARG004
        inference_config: "InferenceConfig | None" = None,  # noqa: ARG004
        generate_dockerfile: bool = False,  # noqa: ARG004
        image_name: str | None = None,  # noqa: ARG004
        image_label: str | None = None,  # noqa: ARG004
    ) -> Any:
        """Not supported on purpose."""
        absent.refuse("azureml.core.Model.package", InvalidEndpoint)
