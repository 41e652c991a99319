"""Children that are forked at a bad moment: a signal comes while their agent starts, or a thread is in the middle of an import or opens a library."""

from __future__ import annotations

import pytest

FORKS = """
    import os, signal, sys, time
    from rlprof_agent import announce

    really_announce = announce.announce

    def announce_late(*args, **keywords):
        os.kill(os.getpid(), signal.SIGTERM)
        return really_announce(*args, **keywords)

    announce.announce = announce_late

    def code_of(child):
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


@pytest.mark.parametrize(
    ("handler", "code"), [("lambda *_: os._exit(7)", 7), ("signal.SIG_DFL", -15)]
)
def test_it_ends_the_child(write, rlprof_run, handler, code):
    body = f"""
    signal.signal(signal.SIGTERM, {handler})
    child = os.fork()
    if not child:
        time.sleep(30)
        os._exit(1)
    print(code_of(child))
    """
    result = rlprof_run(write(FORKS + body))

    assert (result.code, result.out, result.err) == (0, f"{code}\n".encode(), "")


def test_what_its_handler_raises_is_not_lost(write, rlprof_run):
    body = """
    def raises(*_):
        raise TimeoutError("late")

    signal.signal(signal.SIGTERM, raises)
    try:
        child = os.fork()
        if not child:
            time.sleep(30)
            os._exit(1)
    except TimeoutError as error:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        print(error, mask, signal.sigpending(), flush=True)
        os._exit(8)
    print(code_of(child))
    """
    result = rlprof_run(write(FORKS + body))

    assert (result.code, result.out, result.err) == (0, b"late set() set()\n8\n", "")
    assert len(result.recording.processes) == 2


def test_a_child_that_blocks_it_finds_it_pending(write, rlprof_run):
    body = """
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    child = os.fork()
    if not child:
        os._exit(10 + (signal.SIGTERM in signal.sigpending()))
    print(code_of(child))
    """
    result = rlprof_run(write(FORKS + body))

    assert (result.code, result.out, result.err) == (0, b"11\n", "")


HANDLES_LATE = """
    really_announce_late = announce.announce

    def announce_slowly(*args, **keywords):
        # The signal comes again as long after the hook as the hook takes: after exec.
        time.sleep(0.5)
        return really_announce_late(*args, **keywords)

    announce.announce = announce_slowly
    signal.signal(signal.SIGTERM, lambda *_: None)
"""


@pytest.mark.parametrize(
    "become",
    [
        "os.execv('/bin/sleep', ['sleep', '30'])",
        "os.execve('/bin/sleep', ['sleep', '30'], {})",
        "os.environ['PATH'] = '/nowhere:' + os.environ['PATH']; os.execlp('sleep', 'sleep', '30')",
    ],
    ids=["execv", "execve", "execlp"],
)
def test_it_ends_the_program_that_the_child_becomes(write, rlprof_run, become):
    body = f"""
    child = os.fork()
    if not child:
        {become}
    print(code_of(child))
    """
    result = rlprof_run(write(FORKS + HANDLES_LATE + body))

    assert (result.code, result.out, result.err) == (0, b"-15\n", "")


def test_a_child_that_cannot_become_another_program_handles_it(write, rlprof_run):
    body = """
    signal.signal(signal.SIGTERM, lambda *_: os._exit(9))
    child = os.fork()
    if not child:
        try:
            os.execv("/nowhere/sleep", ["sleep", "30"])
        except FileNotFoundError as error:
            assert error.__traceback__.tb_next is None
            time.sleep(30)
            os._exit(1)
    print(code_of(child))
    """
    result = rlprof_run(write(FORKS + HANDLES_LATE + body))

    assert (result.code, result.out, result.err) == (0, b"9\n", "")


def test_a_child_of_subprocess_does_not_wait_for_an_agent_that_ends_with_it(write, rlprof_run):
    body = """
    import subprocess

    def told(*_, **__):
        os.write(2, b"announced")

    announce.announce = told

    def prepare():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGURG, signal.SIG_IGN)
        os.write(1, b"ran")

    subprocess.run(["true"], preexec_fn=prepare, check=True)
    """
    result = rlprof_run(write(FORKS + body))

    assert (result.code, result.out, result.err) == (0, b"ran", "")


FORBIDS = """
    import multiprocessing, signal, sys, time

    def work(told):
        told.send(signal.pthread_sigmask(signal.SIG_BLOCK, []))
        time.sleep(600)

    def forbid(event, arguments):
        if event.startswith(("ctypes.", "socket.")):
            raise RuntimeError("forbidden: " + event)

    sys.addaudithook(forbid)
    fork = multiprocessing.get_context("fork")
    reading, writing = fork.Pipe(duplex=False)
    worker = fork.Process(target=work, args=(writing,))
    worker.start()
    print(reading.recv())
    worker.terminate()
    worker.join()
    print(worker.exitcode)
"""


def test_a_worker_below_an_audit_hook_that_refuses_ours_can_be_ended(write, rlprof_run):
    result = rlprof_run(write(FORBIDS))

    assert (result.code, result.out) == (0, b"set()\n-15\n")


IMPORTS = """
    import importlib._bootstrap as bootstrap, os, sys, threading, types

    NAME = "rlprof_agent.counted.torch_syncs"
    module = types.ModuleType(NAME)
    module.__spec__ = bootstrap.ModuleSpec(NAME, None)
    module.__spec__._initializing = True
    begun = threading.Event()

    def begins_to_import():
        with bootstrap._ModuleLockManager(NAME):
            sys.modules[NAME] = module
            begun.set()
            threading.Event().wait(20)

    threading.Thread(target=begins_to_import, daemon=True).start()
    begun.wait()
    child = os.fork()
    if not child:
        import rlprof_agent.counted.torch_syncs as whole
        os._exit(3 if whole is not module and hasattr(whole, "renew") else 4)
    threading.Timer(15, os.kill, (child, 9)).start()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os._exit(0)
"""
"""A thread is in the middle of importing a module of the agent's, as it is while torch is imported; the child does not have that thread."""


def test_a_fork_in_the_middle_of_an_import_by_another_thread(write, rlprof_run):
    result = rlprof_run(write(IMPORTS))

    assert (result.code, result.out, result.err) == (0, b"3\n", "")


SANDBOXES = {
    "frames": """
        def forbids(event, arguments):
            if event == "sys._getframe":
                raise PermissionError("no frames")
        sys.addaudithook(forbids)
    """,
    "imports": """
        class Forbidden(Exception): ...

        def forbids(name, *arguments, **keywords):
            raise Forbidden(name)
        builtins.__import__ = forbids
    """,
}


@pytest.mark.parametrize("what", SANDBOXES)
def test_a_sandbox_that_forks_prints_nothing_of_ours(write, rlprof_run, what):
    forks = """
        for _ in range(2):
            child = os.fork()
            if not child:
                os._exit(3)
            print(os.waitpid(child, 0)[1] >> 8, flush=True)
    """
    script = write("        import builtins, os, sys\n" + SANDBOXES[what] + forks)
    result = rlprof_run(script)

    assert (result.code, result.out, result.err) == (0, b"3\n3\n", "")


OPENS_LIBRARIES = """
    import collections, ctypes, glob, os, sysconfig, threading, warnings

    warnings.simplefilter("ignore")  # Python 3.12 warns of forks beside threads.
    libraries = glob.glob(sysconfig.get_config_var("DESTSHARED") + "/*.so")
    loader = ctypes.CDLL(None)
    loader.dlopen.restype = ctypes.c_void_p
    loader.dlclose.argtypes = [ctypes.c_void_p]
    begun = threading.Event()

    def opens():
        while True:
            for path in libraries:
                opened = loader.dlopen(path.encode(), os.RTLD_LAZY)
                begun.set()
                if opened:
                    loader.dlclose(opened)

    threading.Thread(target=opens, daemon=True).start()
    begun.wait()
    ends = collections.Counter()
    for _ in range(200):
        child = os.fork()
        if not child:
            os._exit(0)
        ends[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])] += 1
    print(*ends.items(), flush=True)
    os._exit(0)
"""
"""As CUDA, EGL and the look-up of hosts open theirs: without Python's lock. glibc ends a child that then opens one itself."""


def test_a_fork_while_another_thread_opens_a_library(write, rlprof_run):
    result = rlprof_run(write(OPENS_LIBRARIES))

    assert (result.code, result.out, result.err) == (0, b"(0, 200)\n", "")


LOADS = """
    import os, sys

    program = os.getpid()
    loads = []

    def notes(event, arguments):
        if os.getpid() != program and event in ("ctypes.dlopen", "ctypes.dlsym", "import"):
            loads.append((event, arguments[0]))

    sys.addaudithook(notes)
    child = os.fork()
    if not child:
        os.write(1, repr(loads).encode())
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_the_agent_of_a_forked_child_loads_nothing(write, rlprof_run, each_python):
    result = rlprof_run(write(LOADS), options=("--python", each_python))

    assert (result.code, result.out, result.err) == (0, b"[]", "")
