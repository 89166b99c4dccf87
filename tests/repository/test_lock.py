"""One run per channel: waiting, taking over, fencing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import Fenced, LockHeld
from airflow_ddlrepl.model.marks import Mark
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import RefreshRequested, StepApplied
from airflow_ddlrepl.repository.dequeued import FeedPosition
from airflow_ddlrepl.repository.process import is_gone, this_holder, this_process
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.rows import ChannelState, RunStatus, SegmentFacts, StepState

HIDDEN = 1 << 23  # no process has that number


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.server)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/repository.db"
    return str(request.getfixturevalue("databases").source)


@pytest.fixture
def repository(location: str) -> Iterator[Repository]:
    with Repository.open(location) as opened:
        opened.ensure_channel("shop", "f")
        yield opened


def test_two_holders_at_once(repository: Repository, location: str) -> None:
    with Repository.open(location) as other, repository.lock("shop", "anna@host") as lock:
        with pytest.raises(LockHeld) as caught:
            other.lock("shop", "ben")
        assert "locked by anna@host since 20" in str(caught.value)
        assert "at least until 20" in str(caught.value)
        assert (caught.value.code, caught.value.retryable) == ("LCK-101", True)
        with other.lock("another channel", "ben"):
            lock.check()
        assert other.holder("shop") == "anna@host"
    assert repository.holder("shop") is None
    with other.lock("shop", "ben") as second:
        assert second.token == lock.token + 1


def test_waiting_for_the_lock(repository: Repository) -> None:
    first = repository.lock("shop", "a").__enter__()
    threading.Timer(0.4, first.release).start()
    begun = time.monotonic()
    with repository.lock("shop", "b", wait_seconds=10) as second:
        assert time.monotonic() - begun < 5
        assert second.token == first.token + 1


def test_a_living_holder_keeps_the_lock_beyond_its_lease(repository: Repository) -> None:
    with repository.lock("shop", "a", lease_seconds=0.6) as lock:
        time.sleep(1.5)
        with pytest.raises(LockHeld):
            repository.lock("shop", "b")
        lock.check()
        repository.set_state("shop", lock.token, ChannelState.ACTIVE)


def test_a_lease_that_ran_out_is_taken_over_and_the_old_holder_fenced(repository: Repository) -> None:
    paused = repository.lock("shop", "paused", lease_seconds=0.3)  # not entered: nobody renews it
    time.sleep(0.5)
    with repository.lock("shop", "second") as second:
        assert second.token == paused.token + 1
        for act in (paused.check, paused.renew):
            with pytest.raises(Fenced, match=r"LCK-102.*second holds it now"):
                act()
        paused.release()
        second.check()
        repository.set_state("shop", second.token, ChannelState.ACTIVE)


def test_a_lease_that_ran_out_but_was_not_taken_goes_on(repository: Repository) -> None:
    lock = repository.lock("shop", "a", lease_seconds=0.2)
    time.sleep(0.4)
    lock.check()
    repository.set_state("shop", lock.token, ChannelState.ACTIVE)


def test_background_renewal_notices_that_the_lock_is_lost(repository: Repository) -> None:
    with repository.lock("shop", "a", lease_seconds=0.3) as lock:
        with repository._database.write() as connection:
            connection.exec_driver_sql(
                f"update {'' if repository._database.is_sqlite else 'ddlrepl_repository.'}locks set token = token + 1"
            )
        time.sleep(0.4)
        with pytest.raises(Fenced):
            lock.check()


Write = Callable[[Repository, int], Any]
WRITES: dict[str, Write] = {
    "cut_over": lambda r, t: r.cut_over("shop", t, Position(9)),
    "set_state": lambda r, t: r.set_state("shop", t, ChannelState.ACTIVE),
    "set_explained_catalog": lambda r, t: r.set_explained_catalog("shop", t, "what"),
    "claim_source": lambda r, t: r.claim_source("shop", t, "1/2"),
    "set_log_identity": lambda r, t: r.set_log_identity("shop", t, "1/2", "1"),
    "set_source_record": lambda r, t: r.set_source_record("shop", t, {}),
    "set_feed": lambda r, t: r.set_feed("shop", t, 16400),
    "start_over": lambda r, t: r.start_over("shop", t, [], Position(9), "1/2", "1"),
    "delete_channel": lambda r, t: r.delete_channel("shop", t),
    "set_position": lambda r, t: r.set_position("shop", t, "captured", Position(9)),
    "enroll": lambda r, t: r.enroll("shop", t, [], captured=Position(9)),
    "commit_segment": lambda r, t: r.commit_segment(
        "shop", t, SegmentFacts(1, Position(1), Position(9)), [], Position(9)
    ),
    "expire_segments": lambda r, t: r.expire_segments("shop", t, Position(9)),
    "set_segment_digest": lambda r, t: r.set_segment_digest("shop", t, 1, Position(1), "d"),
    "add_load": lambda r, t: r.add_load("shop", t, 1, "l", "d"),
    "forget_loads": lambda r, t: r.forget_loads("shop", t, [(1, "l")]),
    "adopt_feed": lambda r, t: r.adopt_feed("shop", t, "f", 1, {}),
    "begin_feed_segment": lambda r, t: r.begin_feed_segment("shop", t, "f", (1, Position(1)), "d"),
    "end_feed_segment": lambda r, t: r.end_feed_segment("shop", t, "f", (1, Position(1)), "d"),
    "forget_feed_segments": lambda r, t: r.forget_feed_segments("shop", t, "f", Position(1)),
    "set_mark": lambda r, t: r.set_mark("shop", t, Mark(1, "m"), Position(1)),
    "set_claimed_with": lambda r, t: r.set_claimed_with("shop", t, "w", 7),
    "raise_epoch": lambda r, t: r.raise_epoch("shop", t, 7),
    "accept_source": lambda r, t: r.accept_source("shop", t, "1/2"),
    "record_step": lambda r, t: r.record_step("shop", t, "w", StepApplied(1, 1, 1, "", ""), StepState.DONE),
    "record_new_steps": lambda r, t: r.record_new_steps("shop", t, "w", [StepApplied(1, 1, 1, "", "")]),
    "add_control": lambda r, t: r.add_control("shop", t, "w", LogKey(1, 0), "", ""),
    "request_refresh": lambda r, t: r.request_refresh("shop", t, "w", RefreshRequested(1, "", Position(1))),
    "decline_refresh": lambda r, t: r.decline_refresh("shop", t, "w", 1, "", Position(1)),
    "finish_refresh": lambda r, t: r.finish_refresh("shop", t, "w", 1),
    "forget_target": lambda r, t: r.forget_target("shop", t, "w"),
    "together": lambda r, t: r.together("shop", t).__enter__(),
    "set_dequeued": lambda r, t: r.set_dequeued("shop", "c", t, {"log": FeedPosition(1, LogKey(1, 0))}),
    "set_last_apply": lambda r, t: r.set_last_apply("shop", t, "w", None),
    "start_run": lambda r, t: r.start_run("shop", t, "r", "capture"),
    "finish_run": lambda r, t: r.finish_run("shop", t, "r", "capture", RunStatus.DONE),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_every_writer_refuses_a_stale_token(tmp_path: Path, write: Write) -> None:
    with Repository.open(f"sqlite:///{tmp_path}/r.db") as repository:
        repository.ensure_channel("shop", "f")
        stale = repository.lock("shop", "a", lease_seconds=0.01)
        time.sleep(0.05)
        with repository.lock("shop", "b"), pytest.raises(Fenced, match="LCK-102"):
            write(repository, stale.token)
        with pytest.raises(Fenced, match="LCK-102"):
            write(repository, stale.token + 1)
        assert repository.captured("shop") is None


def test_every_method_that_takes_a_token_is_tested_above() -> None:
    import inspect

    writers = {
        name
        for name, method in inspect.getmembers(Repository, inspect.isfunction)
        if not name.startswith("_") and "token" in inspect.signature(method).parameters
    }
    assert writers == set(WRITES)


def test_a_write_in_progress_holds_the_takeover_back(location: str, repository: Repository) -> None:
    """A holder whose lease ran out while it writes: either its write counts or it is fenced, never both."""
    holder = repository.lock("shop", "slow", lease_seconds=0.2)
    time.sleep(0.3)
    order: list[str] = []

    def take() -> None:
        with Repository.open(location) as other, other.lock("shop", "next"):
            order.append("taken")

    with repository._fenced("shop", holder.token):
        thread = threading.Thread(target=take)
        thread.start()
        time.sleep(0.5)
        order.append("written")
    thread.join(20)
    assert order == ["written", "taken"]


def _hold(location: str, ready: Any) -> None:
    with Repository.open(location) as repository, repository.lock("shop", this_holder()) as lock:
        repository.start_run("shop", lock.token, "r", "capture")
        ready.set()
        time.sleep(60)


@pytest.fixture
def holder(location: str, repository: Repository) -> Iterator[Any]:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_hold, args=(location, ready), daemon=True)
    process.start()
    assert ready.wait(60)
    yield process
    if process.is_alive():
        process.kill()
    process.join(10)


def test_a_killed_holder_on_this_machine_is_taken_over_at_once(repository: Repository, holder: Any) -> None:
    with pytest.raises(LockHeld):
        repository.lock("shop", "b")
    os.kill(holder.pid, signal.SIGKILL)
    with repository.lock("shop", "b", wait_seconds=5) as lock:
        assert lock.token == 2
        assert repository.runs("shop")[0].status is RunStatus.LOST


def test_many_processes_get_different_tokens(location: str, repository: Repository) -> None:
    tokens: list[int] = []

    def work() -> None:
        with Repository.open(location) as mine:
            for _ in range(3):
                with mine.lock("shop", "x", wait_seconds=60) as lock:
                    tokens.append(lock.token)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert tokens == sorted(set(tokens))
    assert len(tokens) == 12


def test_processes_elsewhere_are_never_called_gone() -> None:
    here = this_process()
    assert here is not None
    assert not is_gone(here)
    assert not is_gone(None)
    assert not is_gone("other-boot/pid:[1]/1/1")
    assert is_gone(here.rpartition("/")[0] + "/1")


def test_a_process_that_proc_hides_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another user, where /proc is mounted with hidepid; a signal is refused, but only where there is one."""

    def refuse(number: int, _: int) -> None:
        raise PermissionError if number == HIDDEN else ProcessLookupError

    here = this_process()
    assert here is not None
    scope = here.rsplit("/", 2)[0]
    monkeypatch.setattr(os, "kill", refuse)
    assert not is_gone(f"{scope}/{HIDDEN}/17")
    assert is_gone(f"{scope}/{HIDDEN + 1}/17")


def test_processes_that_open_a_new_repository_at_once(location: str) -> None:
    failures: list[BaseException] = []
    gate = threading.Barrier(6)

    def open_it() -> None:
        gate.wait()
        try:
            with Repository.open(location) as opened:
                opened.ensure_channel("shop", "f")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


def test_what_is_written_together_is_one_transaction(location: str, repository: Repository) -> None:
    with repository.lock("shop", "a") as lock:
        step = StepApplied(1, 1, 1, "", "")
        with pytest.raises(ZeroDivisionError), repository.together("shop", lock.token):
            repository.record_step("shop", lock.token, "w", step, StepState.DONE)
            raise ZeroDivisionError
        assert repository.ledger("shop") == []
        with repository.together("shop", lock.token):
            repository.record_step("shop", lock.token, "w", step, StepState.DONE)
        assert len(repository.ledger("shop")) == 1
        with pytest.raises(Fenced), repository.together("shop", lock.token + 1):
            raise AssertionError
