"""Where the names of these import paths come from: the SDK (`roost`) where it can be imported, else the job library.

Nothing is imported before a name is used (Python 3.6 has no way to wait, and no SDK either). `lend` is called once by each
module; `explain_missing_modules` makes the import system say what Roost does not have.
"""

import importlib
import sys

SDK_PYTHON = (3, 11)

_IN_JOBS = {
    "Run": "roost_job.run",
    "AbstractDataset": "roost_job.datasets",
    "DataPath": "roost_job.datapaths",
    "DataPathComputeBinding": "roost_job.datapaths",
    "DataReference": "roost_job.datapaths",
    "DataType": "roost_job.dataset_types",
    "Dataset": "roost_job.dataset_factory",
    "Datastore": "roost_job.datastores",
    "FileDataset": "roost_job.datasets",
    "FileDatasetFactory": "roost_job.dataset_factory",
    "FileEncoding": "roost_job.dataset_types",
    "PromoteHeadersBehavior": "roost_job.dataset_types",
    "TabularDataset": "roost_job.datasets",
    "TabularDatasetFactory": "roost_job.dataset_factory",
    "Model": "roost_job.models",
    "ResourceConfiguration": "roost_job.models",
}
"""Names that the job library has too."""


def lend(module, **names):
    """Gives `module` (its globals) these names, each as `roost` calls it: `lend(globals(), ScriptRun="Run")`."""
    path = module["__name__"]

    def fetch(name):
        if name not in names:
            raise AttributeError(_absent("%s.%s" % (path, name)))
        module[name] = found = find(names[name])
        return found

    # A path of its own, even an empty one, makes `from module import Missing` ask the import system, which explains.
    module.setdefault("__path__", [])
    module["__all__"] = sorted(set(names) | set(module.get("__all__", ())))
    if sys.version_info >= (3, 7):
        module["__getattr__"] = fetch
        module["__dir__"] = lambda: sorted(set(module) | set(names))
    else:
        for name in names:
            fetch(name)


def find(name):
    """The SDK's class of this name, else the job library's, else a class that says that it needs the SDK."""
    why = "it is for Python %d.%d or later" % SDK_PYTHON
    if sys.version_info >= SDK_PYTHON:
        try:
            return getattr(importlib.import_module("roost"), name)
        except (ImportError, AttributeError) as error:
            why = str(error)  # a job's environment need not have the SDK, or all that it depends on
    if name in _IN_JOBS:
        return getattr(importlib.import_module(_IN_JOBS[name]), name)
    here = "This is Python %d.%d at %s." % (sys.version_info[0], sys.version_info[1], sys.executable)
    return _unusable(
        name,
        "needs the Roost SDK, which cannot be imported here: %s. %s" % (why, here),
        "Use a Python %d.%d or later that has `roost` installed. Inside a job, `Run.get_context()` works without it, "
        "and `run.experiment.workspace` names the workspace." % SDK_PYTHON,
    )


def announce(module, *names):
    """Names that scripts import, and mostly never use, though Roost does not have them yet: using one says so."""
    for name in names:
        hint = "It is on its way; the README says what works today."
        module[name] = _unusable(name, "is not in Roost yet.", hint)
    module["__all__"] = sorted(set(names) | set(module.get("__all__", ())))


def leave_out(module, instead, *names):
    """Names that Roost leaves out on purpose: using one says what to do instead."""
    for name in names:
        module[name] = _unusable(name, "is left out of Roost on purpose.", instead)
    module["__all__"] = sorted(set(names) | set(module.get("__all__", ())))


def _unusable(name, fact, hint):
    return _Unusable(name, (object,), {"__doc__": "%s %s" % (name, fact), "_fact": fact, "_hint": hint})


class _Unusable(type):
    """A class that can be named, and compared with, but not used."""

    def __call__(cls, *args, **kwargs):  # noqa: ARG002 - whatever it is called with
        cls._refuse("%s(…)" % cls.__name__)

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)  # inspection by the language itself
        cls._refuse("%s.%s" % (cls.__name__, name))

    def _refuse(cls, what):
        # On use: the job library is not needed to import a path.
        from roost_job.context import job_here
        from roost_job.outside import SERVING, NotInRoost, refuse_serving

        if cls.__name__ in SERVING and job_here() is not None:
            refuse_serving(what.replace("(…)", ""))
        raise NotInRoost("%s %s" % (what, cls._fact), hint=cls._hint)


class _Explainer(object):
    """The last finder on the meta path: reached only for what is not there."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):  # noqa: ARG004 - the import system's signature
        if fullname.startswith("azureml."):
            # Without `name=`: with it, `from azureml.core import Missing` would hide this text behind its own.
            raise ModuleNotFoundError(_absent(fullname))


def explain_missing_modules():
    if not any(isinstance(finder, _Explainer) for finder in sys.meta_path):
        sys.meta_path.append(_Explainer())


def _absent(what):
    return "Roost does not have `%s` yet." % what
