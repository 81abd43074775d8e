"""Where the names of these import paths come from: the SDK (`roost`) where it can be imported, else the job library.

Nothing is imported before a name is used. `lend` is called once by each module; `explain_missing_modules` makes the import system
say what Roost does not have (`roost_job.absent` is the list).
"""

import importlib
import importlib.machinery
import os
import sys
import types

SDK_PYTHON = (3, 11)
SDK_VERSION = "1.61.0"
"""Scripts check it; it is the version of the Azure ML SDK v1 whose behaviour these paths follow."""

_IN_JOBS = {
    "Run": "roost_job.run",
    "AbstractDataset": "roost_job.data.datasets",
    "DataPath": "roost_job.data.datapaths",
    "DataPathComputeBinding": "roost_job.data.datapaths",
    "DataReference": "roost_job.data.datapaths",
    "DataType": "roost_job.data.dataset_types",
    "Dataset": "roost_job.data.dataset_factory",
    "Datastore": "roost_job.data.datastores",
    "FileDataset": "roost_job.data.datasets",
    "FileDatasetFactory": "roost_job.data.dataset_factory",
    "FileEncoding": "roost_job.data.dataset_types",
    "PromoteHeadersBehavior": "roost_job.data.dataset_types",
    "TabularDataset": "roost_job.data.datasets",
    "TabularDatasetFactory": "roost_job.data.dataset_factory",
    "Model": "roost_job.models.models",
    "ResourceConfiguration": "roost_job.models.models",
}
"""Names that the job library has too."""


def lend(module, **names):
    """Gives `module` (its globals) these names, each as `roost` calls it: `lend(globals(), ScriptRun="Run")`. Modules below it
    are there without an import of their own, as they were after the Azure ML SDK's `import azureml.core`."""
    path = module["__name__"]

    def fetch(name):
        if name in names:
            module[name] = found = find(names[name])
            return found
        if not name.startswith("__") and _is_module(path, name):
            return importlib.import_module("%s.%s" % (path, name))
        raise AttributeError(_absent("%s.%s" % (path, name)))

    # A path of its own, even an empty one, makes `from module import Missing` ask the import system, which explains.
    module.setdefault("__path__", [])
    module["__all__"] = sorted(set(names) | set(module.get("__all__", ())))
    wait(sys.modules[path], fetch, lambda: sorted(set(module) | set(names)))


def wait(module, fetch, names=None):
    """Has a module ask for what it does not have when that is used."""
    module.__getattr__ = fetch
    if names is not None:
        module.__dir__ = names
    if sys.version_info < (3, 7):
        module.__class__ = _Waiting


class _Waiting(types.ModuleType):
    """Python 3.6 asks a module's class, not the module."""

    def __getattr__(self, name):
        return self.__dict__["__getattr__"](name)

    def __dir__(self):
        return self.__dict__.get("__dir__", lambda: sorted(self.__dict__))()


def lend_urllib():
    """`urllib.request` and its neighbours without an import of their own: the Azure ML SDK's `import azureml.core` brought them,
    and notebooks rely on it. They come when they are used; loading them at once would cost more than all the rest."""
    import urllib  # for the package `azureml.core` only

    def fetch(name):
        if name in ("error", "parse", "request"):
            return importlib.import_module("urllib.%s" % name)
        raise AttributeError("module 'urllib' has no attribute %r" % name)

    if not hasattr(urllib, "__getattr__"):
        wait(urllib, fetch)


def _is_module(package, name):
    found = importlib.machinery.PathFinder.find_spec("%s.%s" % (package, name), sys.modules[package].__path__)
    return found is not None


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


def leave_out(module, *names):
    """Names of `roost_job.absent` that scripts import, and mostly never use: using one says what is said there."""
    for name in names:
        module[name] = _unusable(name, "", "", "%s.%s" % (module["__name__"], name))
    module["__all__"] = sorted(set(names) | set(module.get("__all__", ())))


def _unusable(name, fact, hint, absent=""):
    held = {"__doc__": "%s cannot be used here." % name, "_fact": fact, "_hint": hint, "_absent": absent}
    return _Unusable(name, (object,), held)


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
        from roost_job import absent
        from roost_job.context import job_here
        from roost_job.outside import SERVING, NotInRoost, refuse_serving

        if cls._absent:
            fact, hint = absent.said(cls._absent)
            raise NotInRoost(fact, hint=hint)
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


def _absent(path):
    """What is said of a path that is not there: of one that Roost leaves out what to do instead, else what it may have been."""
    from roost_job import absent  # for those who meet one

    if absent.find(path):
        return "%s\nhint: %s" % absent.said(path)
    package, _, name = path.rpartition(".")
    there = sys.modules.get(package)
    return absent.unknown(name, "`%s`" % package, () if there is None else set(dir(there)) | _below(there))


def _below(package):
    """The modules in a package's folders."""
    found = set()
    for place in package.__path__:
        try:
            found.update(name.partition(".")[0] for name in os.listdir(place))
        except OSError:
            continue  # a folder that is not there, or an archive
    return found
