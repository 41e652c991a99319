from __future__ import annotations

import os
import resource
import select
import socket
import threading
from pathlib import Path

import pytest

from rlprof.agent.inject.rlprof_agent.announce import announce
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.recording import agents
from rlprof.recording.agents import AgentServer


@pytest.fixture
def server():
    server = AgentServer()
    yield server
    server.close()


def in_background(server: AgentServer, token: str) -> tuple[threading.Thread, list[bool]]:
    """An agent that announces itself and waits for its answer."""
    mailbox = Mailbox(10_000)
    answers: list[bool] = []
    thread = threading.Thread(
        target=lambda: answers.append(
            announce(server.address, token, "start", mailbox.fd, waits=True)
        )
    )
    thread.start()
    return thread, answers


def looked(server: AgentServer):
    """What comes of the next that somebody does or says."""
    ready, _, _ = select.select([server], [], [], 10)
    assert ready, "nobody called"
    return server.accept()


def accepted(server: AgentServer):
    """The next announcement; its greeting may come after the call."""
    while True:
        announcement = looked(server)
        if announcement is not None:
            return announcement


def test_an_announcement_names_its_process(server):
    thread, answers = in_background(server, server.token)

    announcement = accepted(server)
    server.release(announcement.pid)
    thread.join()

    assert answers == [True]
    assert announcement.pid == os.getpid()
    assert announcement.ppid == os.getppid()
    assert announcement.start == "start"
    assert announcement.python.count(".") == 2


def test_a_foreign_token_is_refused(server):
    thread, answers = in_background(server, "guessed")

    while thread.is_alive():
        if server.has_callers():
            assert server.accept() is None

    assert answers == [True]


def test_a_peer_that_talks_rubbish_is_refused(server):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect("\0" + server.address)
        peer.sendall(b"GET / HTTP/1.1\r\n\r\n")

        assert looked(server) is None


def test_who_has_waited_long_enough_goes_on(server):
    thread, answers = in_background(server, server.token)
    announcement = accepted(server)

    while server.release_overdue() is not None:
        pass  # At most a tenth of a second.
    thread.join()

    assert answers == [True]
    assert announcement is not None


def test_an_agent_without_a_recorder_goes_on_at_once():
    server = AgentServer()
    server.close()
    mailbox = Mailbox(10_000)

    assert announce(server.address, server.token, "start", mailbox.fd, waits=True) is False


def test_a_child_that_is_not_to_wait_goes_on_unanswered(server):
    mailbox = Mailbox(10_000)

    assert announce(server.address, server.token, "fork", mailbox.fd, waits=False)

    assert accepted(server).start == "fork"


def test_a_silent_peer_holds_up_nobody(server):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect("\0" + server.address)
        assert looked(server) is None
        thread, answers = in_background(server, server.token)

        announcement = accepted(server)
        server.release(announcement.pid)
        thread.join()

    assert answers == [True]


def test_a_peer_that_stays_silent_is_hung_up_on(server, monkeypatch):
    monkeypatch.setattr(agents, "GREETING_TIMEOUT_S", 0.0)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.settimeout(10)
        silent.connect("\0" + server.address)
        looked(server)

        server.release_overdue()

        assert silent.recv(1) == b""


def test_many_silent_peers_are_not_kept(server):
    peers = [socket.socket(socket.AF_UNIX) for _ in range(2 * agents.MAX_SILENT)]
    for peer in peers:
        peer.settimeout(10)
        peer.connect("\0" + server.address)
        looked(server)

    assert peers[0].recv(1) == b""
    assert not select.select([peers[-1]], [], [], 0)[0]
    for peer in peers:
        peer.close()


def test_without_a_descriptor_to_spare_an_agent_goes_on_at_once(server):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    thread, _ = in_background(server, server.token)
    select.select([server], [], [], 10)
    highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, limits[1]))
    try:
        fillers = list(_open_all())
        assert server.accept() is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    for filler in fillers:
        os.close(filler)

    thread.join(10)
    assert not thread.is_alive()
    again, answers = in_background(server, server.token)
    announcement = accepted(server)
    server.release(announcement.pid)
    again.join()
    assert answers == [True]


def _open_all():
    """Take every descriptor that is left."""
    while True:
        try:
            yield os.open(os.devnull, os.O_RDONLY)
        except OSError:
            return
