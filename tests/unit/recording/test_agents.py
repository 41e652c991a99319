from __future__ import annotations

import os
import socket
import threading

import pytest

from rlprof.agent.inject.rlprof_agent.announce import announce
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
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


def accepted(server: AgentServer):
    server._listener.settimeout(10)
    return server.accept()


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
    thread, _ = in_background(server, "guessed")

    assert accepted(server) is None
    thread.join()


def test_a_peer_that_talks_rubbish_is_refused(server):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect("\0" + server.address)
        peer.sendall(b"GET / HTTP/1.1\r\n\r\n")

        assert accepted(server) is None


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

    announcement = server.accept()
    assert announcement is not None
    assert announcement.start == "fork"
