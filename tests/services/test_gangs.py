"""Gangs as services: what members say is bounded, commands are safe twice, logs are sealed once and kept by attempt."""

import threading
from pathlib import Path

import pytest
from tests.shared.contexts import ANN, Clock, make_house, submit

from roost.domain.errors import Conflict, InvalidInput
from roost.domain.files import RANK_LOG, STD_LOG, RunFile
from roost.domain.gangs import Phase, all_met
from roost.domain.runs import Reason, Run, RunEvent, RunStatus
from roost.domain.topology import LaunchKind, Topology
from roost.services import files, gangs, runs, streams
from roost.services.context import Context
from roost.services.gangs import Meeting, MemberReport, Order
from roost.services.runs import MAX_MESSAGE, Report


def begin(context: Context, nodes: int = 2, **spec: object) -> Run:
    """A run that has its nodes."""
    run = submit(context, node_count=nodes, **spec)
    runs.move(context, run.id, RunStatus.QUEUED, Reason.WAITING_FOR_NODE, "")
    return claim(context, run)


def claim(context: Context, run: Run) -> Run:
    given = RunEvent(to=RunStatus.PROVISIONING, at=context.clock(), reason=Reason.NODE_GIVEN)
    claimed = context.store.runs.claim("local", 4, event=lambda _: given)
    assert claimed is not None
    assert claimed.id == run.id
    return claimed


def say(context: Context, run: Run, rank: int, to: RunStatus, reason: Reason = Reason.NONE, **more: object) -> Run:
    return gangs.report(context, ANN, run.id, rank, MemberReport(to=to, reason=reason, **more))  # type: ignore[arg-type]


def start(context: Context, run: Run) -> None:
    for rank in range(run.spec.node_count):
        gangs.heartbeat(context, ANN, run.id, rank)
        gangs.meet(context, ANN, run.id, rank, Meeting(ports=(20000,)))
    for rank in range(run.spec.node_count):
        say(context, run, rank, RunStatus.RUNNING, Reason.SCRIPT_STARTED)


def printed(context: Context, run: Run, rank: int, text: str) -> None:
    """What a rank printed, streamed and then kept, as its agent does."""
    data, path = text.encode(), RANK_LOG.format(rank)
    streams.append(context, ANN, run.id, path, 0, data)
    files.put(context, ANN, run.id, [RunFile(path=path, blob=context.blobs.put(data), size=len(data), modified_at=1.0)])


def read(context: Context, run: Run, path: str) -> str:
    return b"".join(files.read(context, ANN, run.id, path)).decode()


def test_a_node_whose_own_workers_are_done_serves_until_all_are(context: Context) -> None:
    run = begin(context)
    start(context, run)
    say(context, run, 0, RunStatus.RUNNING, Reason.SCRIPT_STARTED, serving=True)
    assert [member.phase for member in gangs.members(context, ANN, run.id)] == [Phase.SERVING, Phase.RUNNING]
    assert runs.get(context, ANN, run.id).ending is Reason.NONE
    said = say(context, run, 1, RunStatus.RUNNING, Reason.SCRIPT_STARTED, serving=True)
    assert said.ending is Reason.NODES_DONE


def test_a_node_ends_no_earlier_than_the_run_began(context: Context) -> None:
    run = begin(context)
    start(context, run)
    for to, reason in ((RunStatus.FINALIZING, Reason.EXIT_CODE), (RunStatus.FAILED, Reason.EXIT_CODE)):
        gangs.report(context, ANN, run.id, 1, MemberReport(to=to, reason=reason, at=-1.7e308), 1.7e308)
        assert gangs.members(context, ANN, run.id)[1].ended_at == runs.get(context, ANN, run.id).started_at


def test_what_fails_of_a_cancel_is_cancelled(context: Context) -> None:
    run = begin(context)
    start(context, run)
    runs.cancel(context, ANN, run.id)
    say(context, run, 1, RunStatus.FINALIZING, Reason.EXIT_CODE, message="Its peers are gone.", exit_code=1)
    say(context, run, 1, RunStatus.FAILED, Reason.EXIT_CODE, message="Its peers are gone.", exit_code=1)
    now = say(context, run, 0, RunStatus.CANCELED, Reason.CANCELED_BY_USER)
    assert (now.status, now.reason) == (RunStatus.CANCELED, Reason.CANCELED_BY_USER)


def test_a_preempted_run_that_is_cancelled_is_cancelled(context: Context) -> None:
    run = begin(context)
    runs.move(context, run.id, RunStatus.PROVISIONING, Reason.PREEMPTED, "A node goes.")
    runs.cancel(context, ANN, run.id)
    for rank in (0, 1):
        say(context, run, rank, RunStatus.FAILED, Reason.PREEMPTED)
    assert runs.get(context, ANN, run.id).status is RunStatus.CANCELED


def test_one_that_could_not_be_prepared_keeps_the_others_from_starting(context: Context) -> None:
    run = begin(context)
    gangs.heartbeat(context, ANN, run.id, 1)
    said = say(context, run, 0, RunStatus.FAILED, Reason.PREPARE_FAILED, message="It has no disk.")
    assert said.ending is Reason.NODE_FAILED
    assert not all_met(gangs.meet(context, ANN, run.id, 1, Meeting(ports=(20000,))))


def test_one_whose_agent_is_stopped_ends_the_others(context: Context) -> None:
    run = begin(context)
    said = say(context, run, 0, RunStatus.CANCELED, Reason.CANCELED_BY_USER, message="It was told to stop (SIGTERM).")
    assert said.ending is Reason.NODE_FAILED
    now = say(context, run, 1, RunStatus.FAILED, Reason.NODE_FAILED)
    assert (now.status, now.message) == (RunStatus.CANCELED, "It was told to stop (SIGTERM).")


def test_what_members_say_is_bounded(context: Context) -> None:
    run = begin(context)
    with pytest.raises(InvalidInput, match="32 bits"):
        say(context, run, 0, RunStatus.FAILED, Reason.EXIT_CODE, exit_code=2**40)
    with pytest.raises(InvalidInput, match="32 bits"):
        say(context, run, 0, RunStatus.FINALIZING, Reason.EXIT_CODE, exit_code=2**40)
    say(context, run, 0, RunStatus.FINALIZING, Reason.EXIT_CODE, message="y" * 500_000, exit_code=3)
    say(context, run, 1, RunStatus.FAILED, Reason.NODE_FAILED, message="z" * 500_000)
    one, two = gangs.members(context, ANN, run.id)
    assert len(one.message) == len(two.message) == MAX_MESSAGE + 1
    assert one.exit_code == 3


def test_its_own_failure_is_not_overwritten_by_an_echo(context: Context) -> None:
    run = begin(context)
    start(context, run)
    say(context, run, 0, RunStatus.FINALIZING, Reason.EXIT_CODE, message="boom", exit_code=3)
    say(context, run, 1, RunStatus.FAILED, Reason.NODE_FAILED)
    now = say(context, run, 0, RunStatus.FAILED, Reason.NODE_FAILED, message="It was told.")
    assert (now.status, now.reason, now.exit_code) == (RunStatus.FAILED, Reason.EXIT_CODE, 3)
    assert now.message.startswith("On node 0 (local-0): boom")


def test_a_command_that_is_sent_twice_is_one(context: Context) -> None:
    run = begin(context)
    order = Order(argv=("orted", "-x"), key="k1", attempt=1)
    number = gangs.send(context, ANN, run.id, 1, order)
    assert gangs.send(context, ANN, run.id, 1, order) == number
    others = [Order(argv=order.argv, key="k2"), Order(argv=order.argv), Order(argv=order.argv)]
    numbers = [gangs.send(context, ANN, run.id, 1, other) for other in others]
    assert len({number, *numbers}) == 4, "without a key each is its own"
    assert [command.argv for command in gangs.commands(context, ANN, run.id)] == [("orted", "-x")] * 4
    with pytest.raises(Conflict, match="not at 2"):
        gangs.send(context, ANN, run.id, 1, Order(argv=("a",), attempt=2))
    with pytest.raises(InvalidInput, match="key"):
        gangs.send(context, ANN, run.id, 1, Order(argv=("a",), key="k" * 100))


def again(context: Context, run: Run) -> Run:
    """Its nodes are taken away, all members end of it, and it has nodes again."""
    runs.move(context, run.id, runs.get(context, ANN, run.id).status, Reason.PREEMPTED, "A node goes.")
    for rank in range(run.spec.node_count):
        say(context, run, rank, RunStatus.FAILED, Reason.EXIT_CODE, exit_code=1, attempt=run.attempt)
    return claim(context, run)


def test_commands_do_not_outlive_their_attempt(context: Context) -> None:
    run = begin(context)
    number = gangs.send(context, ANN, run.id, 1, Order(argv=("orted",)))
    run = again(context, run)
    assert gangs.commands(context, ANN, run.id) == []
    assert gangs.send(context, ANN, run.id, 1, Order(argv=("orted",), attempt=2)) == number, (
        "this store has used the number again"
    )
    gangs.end_command(context, ANN, run.id, number, 9, attempt=1)
    (command,) = gangs.commands(context, ANN, run.id)
    assert command.exit_code is None


def test_logs_of_an_attempt_stay_when_the_next_one_prints(context: Context) -> None:
    run = begin(context)
    for rank in (0, 1):
        printed(context, run, rank, f"first of {rank}\n")
    run = again(context, run)
    for rank in (0, 1):
        printed(context, run, rank, f"second of {rank}\n")
        say(context, run, rank, RunStatus.COMPLETED, Reason.DONE, exit_code=0, attempt=2)
    assert runs.get(context, ANN, run.id).status is RunStatus.COMPLETED
    assert read(context, run, "user_logs/attempt_1/std_log_process_1.txt") == "first of 1\n"
    assert read(context, run, RANK_LOG.format(1)) == "second of 1\n"
    assert sorted(read(context, run, "user_logs/attempt_1/std_log.txt").splitlines()) == [
        "[0] first of 0",
        "[1] first of 1",
    ]
    assert sorted(read(context, run, STD_LOG).splitlines()) == ["[0] second of 0", "[1] second of 1"]


def test_that_two_nodes_have_made_one_file_is_said_once(context: Context) -> None:
    run = begin(context)
    for step in range(3):
        for rank in (0, 1):
            blob = context.blobs.put(f"{step} of {rank}".encode())
            files.put(
                context, ANN, run.id, [RunFile(path="outputs/a", blob=blob, size=6, modified_at=1.0)], node_rank=rank
            )
    assert read(context, run, STD_LOG).count("Two nodes have made 'outputs/a'") == 1


def test_one_node_with_several_processes_keeps_its_merged_log_too(context: Context) -> None:
    run = begin(context, 1, launch=LaunchKind.PYTORCH, topology=Topology(processes_per_node=2))
    for rank in (0, 1):
        printed(context, run, rank, f"first of {rank}\n")
    runs.move(context, run.id, RunStatus.PROVISIONING, Reason.PREEMPTED, "Its node goes.")
    runs.report(context, ANN, run.id, Report(to=RunStatus.FAILED, reason=Reason.EXIT_CODE, exit_code=1, attempt=1))
    assert runs.get(context, ANN, run.id).status is RunStatus.QUEUED
    assert read(context, run, "user_logs/attempt_1/std_log.txt") == "[0] first of 0\n[1] first of 1\n"


def test_the_merged_log_is_sealed_once_however_many_end_at_the_same_time(tmp_path: Path) -> None:
    context = make_house(tmp_path, clock=Clock(), slots=4, store=f"sqlite:///{tmp_path}/db.sqlite")
    for _ in range(5):
        run = begin(context, 3)
        for rank in range(3):
            printed(context, run, rank, f"hello from {rank}\n" * 20_000)
        problems: list[Exception] = []
        together = threading.Barrier(3)

        def end(
            rank: int, run: Run = run, together: threading.Barrier = together, problems: list[Exception] = problems
        ) -> None:
            together.wait()
            try:
                say(context, run, rank, RunStatus.COMPLETED, Reason.DONE, exit_code=0, attempt=1)
            except Exception as problem:
                problems.append(problem)

        threads = [threading.Thread(target=end, args=(rank,)) for rank in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        assert runs.get(context, ANN, run.id).status is RunStatus.COMPLETED
        assert len(read(context, run, STD_LOG).splitlines()) == 60_000
        assert STD_LOG not in context.store.streams.names(run.id)
