"""A run's models: `run.register_model` makes a model of the run's files. No byte is copied, since they are stored already."""

import os
import posixpath
from typing import Any, List, Optional

from roost_job.exceptions import ModelPathNotFoundException, UserErrorException
from roost_job.models.model_settings import ResourceConfiguration, new_key

_NAMED = 10


class RunModels(object):
    """The model calls of a run. `_job`, `_kin` and `_outputs` come from the run."""

    _job: Any
    _outputs: Optional[str]
    _outputs_name: str
    _kin: bool

    @property
    def id(self) -> str:
        raise NotImplementedError

    @property
    def experiment(self) -> Any:
        raise NotImplementedError

    def register_model(
        self,
        model_name: str,
        model_path: Optional[str] = None,
        tags: Any = None,
        properties: Any = None,
        model_framework: Optional[str] = None,
        model_framework_version: Optional[str] = None,
        description: Optional[str] = None,
        datasets: Any = None,
        sample_input_dataset: Any = None,
        sample_output_dataset: Any = None,
        resource_configuration: Optional[ResourceConfiguration] = None,
        **kwargs: Any,
    ) -> Any:
        """Registers a file or folder of the run as the next version of a name; `model_path` defaults to the name itself. If
        neither exists, all files whose names begin with it. Files that are still in the run's outputs folder are uploaded
        first."""
        from roost_job.models.models import described, link_of  # for those who use models

        path = _normalised(model_name if model_path is None else model_path)
        about = described(
            self.experiment.workspace,
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
        asked = dict(about, name=model_name, key=new_key(), run_id=self.id, run_path=path)
        link = link_of(self.experiment.workspace)
        try:
            facts = link.ask("model_register", **asked)
        except ModelPathNotFoundException as error:
            if not self._keep(path):
                lying = self._lying()
                if not lying:
                    raise
                more = " and %d more" % (len(lying) - _NAMED) if len(lying) > _NAMED else ""
                words = "%s In its folder there is %s%s." % (error.message, ", ".join(lying[:_NAMED]), more)
                raise type(error)(words, hint=error.hint) from None
            facts = link.ask("model_register", **asked)
        return self._model(facts)

    def _root(self) -> Optional[str]:
        """The outputs folder of this process or its job; None for a run elsewhere."""
        return self._outputs or ("outputs" if self._job is not None and not self._kin else None)

    def _lying(self) -> List[str]:
        """The files in the outputs folder, by their names in the run."""
        root = self._root()
        found = [os.path.join(at, each) for at, _, files in os.walk(root) for each in files] if root else []
        return sorted(self._outputs_name + "/" + os.path.relpath(each, root).replace(os.sep, "/") for each in found)

    def _keep(self, path: str) -> bool:
        """Uploads the files at that path in the outputs of this process or its job, which otherwise are uploaded at the run's
        end."""
        root, top = self._root(), self._outputs_name
        if root is None or not (path == top or path.startswith(top + "/")):
            return False
        here = os.path.normpath(os.path.join(root, path[len(top) + 1 :]))
        if os.path.isfile(here):
            self.upload_file(path, here)
        elif os.path.isdir(here) and any(files for _, _, files in os.walk(here)):
            self.upload_folder(path, here)
        else:
            return False
        return True

    def upload_file(self, name: str, path_or_stream: Any, datastore_name: Optional[str] = None) -> None:
        raise NotImplementedError

    def upload_folder(self, name: str, path: str, datastore_name: Optional[str] = None) -> None:
        raise NotImplementedError

    def _model(self, facts: Any) -> Any:
        from roost_job.models.models import Model  # as above

        return Model._of(self.experiment.workspace, facts)


def _normalised(path: Any) -> str:
    if not isinstance(path, str) or not path.strip("/"):
        raise UserErrorException("model_path must be text that is not empty, got %.80r." % (path,))
    return posixpath.normpath(path.replace("\\", "/"))
