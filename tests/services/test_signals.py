"""Wake-ups: none is lost between the look and the wait, from threads and from asyncio."""

import asyncio
import threading

import pytest

from roost.services.signals import Signals


def test_a_ring_before_the_wait_is_not_lost() -> None:
    signals = Signals()
    with signals.listen("run/a") as listener:
        signals.notify("run/a")
        assert listener.wait(60)
        assert not listener.wait(0), "it is silent again"


def test_a_ring_wakes_a_waiting_thread() -> None:
    signals = Signals()
    heard: list[bool] = []
    listening = threading.Event()

    def wait() -> None:
        with signals.listen("control") as listener:
            listening.set()
            heard.append(listener.wait(60))

    thread = threading.Thread(target=wait)
    thread.start()
    listening.wait()
    signals.notify("another", "control")
    thread.join(10)
    assert heard == [True]


def test_rings_from_another_thread_wake_many_coroutines() -> None:
    signals = Signals()

    async def wait() -> bool:
        with signals.listen("run/a") as listener:
            return await listener.wait_async(60)

    async def story() -> list[bool]:
        waiting = [asyncio.create_task(wait()) for _ in range(50)]
        await asyncio.sleep(0)
        assert signals.waiting("run/a") == 50
        threading.Thread(target=signals.notify, args=("run/a",)).start()
        return await asyncio.gather(*waiting)

    assert asyncio.run(story()) == [True] * 50
    assert signals.waiting("run/a") == 0


def test_time_passes_without_a_ring() -> None:
    signals = Signals()

    async def wait() -> bool:
        with signals.listen("run/a") as listener:
            return await listener.wait_async(0.01)

    assert asyncio.run(wait()) is False


def test_a_cancelled_wait_leaves_nothing_behind() -> None:
    signals = Signals()

    async def wait() -> None:
        with signals.listen("run/a") as listener:
            await listener.wait_async(60)

    async def story() -> None:
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert signals.waiting("run/a") == 0


def test_closing_wakes_everybody_now_and_later() -> None:
    signals = Signals()
    with signals.listen("a") as listener:
        signals.close()
        assert listener.wait(60)
    with signals.listen("b") as late:
        assert late.wait(60)
    assert signals.closed
