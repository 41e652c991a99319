"""Process starts and configuration accesses of real programs, on every Python and with real libraries."""

from __future__ import annotations

import importlib.util

import pytest

from tests.live_processes import Result


def total(result: Result, name: str) -> float:
    return sum(counter.value for counter in result.recording.counters if counter.name == name)


def needs(package: str, *, install: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        importlib.util.find_spec(package) is None,
        reason=f"{package} is missing (pip install {install})",
    )


# Process starts

STARTS = """
    import multiprocessing as mp, os, pty, subprocess

    def work():
        pass

    def forked(fork):
        pid = fork()
        pid = pid[0] if isinstance(pid, tuple) else pid
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)

    def process(method):
        process = mp.get_context(method).Process(target=work)
        process.start()
        process.join()

    def missing():
        try:
            subprocess.run(["./no-such-program"])
        except FileNotFoundError:
            pass

    WAYS = {
        "run": lambda: subprocess.run(["true"]),
        "posix_spawn": lambda: subprocess.run(["/bin/true"], close_fds=False),
        "preexec": lambda: subprocess.run(["true"], preexec_fn=work),
        "missing": missing,
        "system": lambda: os.system("true"),
        "popen": lambda: os.popen("true").read(),
        "spawnv": lambda: os.spawnv(os.P_WAIT, "/bin/true", ["true"]),
        "fork": lambda: forked(os.fork),
        "forkpty": lambda: forked(pty.fork),
        "mp-fork": lambda: process("fork"),
        "mp-spawn": lambda: process("spawn"),
        "mp-forkserver": lambda: process("forkserver"),
    }
"""


def test_each_start_of_a_process_counts_once(write, rlprof_run, other_python):
    """New interpreters also start the library's tracker of resources, once; a fork server forks for them."""
    script = write(
        STARTS
        + """
    if __name__ == "__main__":
        import rlprof_agent.counters as counters
        starts = counters._counters["process_starts"]
        for way, start in WAYS.items():
            before = starts.cell[0]
            start()
            print(way, starts.cell[0] - before)
    """
    )

    result = rlprof_run(script, options=["--python", other_python, "--torch", "off"])

    assert result.code == 0, result.err
    told = dict(line.split() for line in result.out.decode().splitlines())
    assert told == {
        "run": "1",
        "posix_spawn": "1",
        "preexec": "1",
        "missing": "1",
        "system": "1",
        "popen": "1",
        "spawnv": "1",
        "fork": "1",
        "forkpty": "1",
        "mp-fork": "1",
        "mp-spawn": "2",
        "mp-forkserver": "1",
    }
    # Beside these: what the fork server forks.
    assert total(result, "process_starts") == 14


def test_what_starts_processes_looks_as_ever(write, rlprof_run, bare_run):
    script = write(
        """
        import inspect, os, pickle, posix, subprocess, sys, traceback

        for function in (os.system, os.posix_spawn, os.posix_spawnp):
            print(function.__name__, function.__module__, function.__doc__)
            print(pickle.loads(pickle.dumps(function)) is function, function is getattr(posix, function.__name__))
        print(inspect.signature(os.system), os.WEXITSTATUS(os.system("exit 3")))
        try:
            subprocess.run(["./no-such-program"], close_fds=True, preexec_fn=int)
        except FileNotFoundError as error:
            print([frame.name for frame in traceback.extract_tb(error.__traceback__)], error)
        print(subprocess.run([sys.executable, "-c", "print(5)"], capture_output=True, text=True).stdout)
        """
    )

    result, alone = rlprof_run(script), bare_run(script)

    assert alone.returncode == 0, alone.stderr
    assert (result.code, result.out, result.err) == (0, alone.stdout, "")
    assert total(result, "process_starts") == 3


# Configurations

OMEGACONF = needs("omegaconf", install="omegaconf")
HYDRA = needs("hydra", install="hydra-core")
ML_COLLECTIONS = needs("ml_collections", install="ml_collections")


@OMEGACONF
def test_accesses_of_omegaconf(write, rlprof_run, bare_run):
    script = write(
        """
        import copy, inspect, pickle, threading
        from omegaconf import DictConfig, OmegaConf
        from omegaconf.errors import ConfigAttributeError

        config = OmegaConf.create(
            {"lr": 0.1, "net": {"width": 8}, "layers": [1, 2, 3], "again": "${lr}"}
        )
        OmegaConf.set_struct(config, True)
        for _ in range(100):
            config.lr, config["lr"], config.get("lr"), config.again      # 4
            config.net.width                                             # 2
            config.layers[1]                                             # 2
            OmegaConf.select(config, "net.width")                        # 1
            OmegaConf.to_container(config, resolve=True)                 # 1
            hasattr(config, "momentum"), "lr" in config                  # 1
        assert list(config.layers) == [1, 2, 3]                          # 4
        assert dict(**config.net) == {"width": 8}                        # 2
        threads = [threading.Thread(target=lambda: [config.lr for _ in range(500)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        try:
            config.momentum
        except ConfigAttributeError as error:
            print(error)
        print(copy.deepcopy(config) == config, pickle.loads(pickle.dumps(config)) == config)
        print(inspect.signature(DictConfig.get), inspect.signature(DictConfig.__getattr__))
        """
    )

    result, alone = rlprof_run(script), bare_run(script)

    assert alone.returncode == 0, alone.stderr
    assert (result.code, result.out, result.err) == (0, alone.stdout, "")
    assert total(result, "config_accesses") == 100 * 11 + 4 + 2 + 2000 + 1


@OMEGACONF
@needs("torch", install="torch")
@pytest.mark.parametrize("fullgraph", [pytest.param(False, marks=pytest.mark.slow), True])
def test_what_torch_compile_makes_of_accesses_stays_the_same(
    write, rlprof_run, bare_run, fullgraph
):
    """Graphs and what is in them, breaks, errors and results."""
    script = write(
        f"""
        import torch, torch._dynamo
        from torch._dynamo.utils import counters
        from omegaconf import OmegaConf

        config = OmegaConf.create({{"lr": 0.1, "net": {{"sizes": [1, 2, 3], "scale": 2.0}}}})

        def attribute(x): return x * config.lr
        def item(x): return x * config["lr"]
        def get(x): return x * config.get("lr")
        def nested(x): return x * config.net.scale
        def of_list(x): return x * config.net.sizes[1]
        def through_list(x):
            for size in config.net.sizes:
                x = x * size
            return x
        def items(x):
            for key, value in config.net.items():
                if key == "scale":
                    x = x * value
            return x
        def select(x): return x * OmegaConf.select(config, "net.scale")
        def container(x): return x * OmegaConf.to_container(config)["lr"]
        def missing(x): return x * (2 if hasattr(config, "momentum") else 3)

        for function in (
            attribute, item, get, nested, of_list, through_list, items, select, container, missing
        ):
            torch._dynamo.reset()
            counters.clear()
            sizes = []
            def backend(graph, _inputs):
                sizes.append(len(graph.graph.nodes))
                return graph.forward
            try:
                compiled = torch.compile(function, backend=backend, fullgraph={fullgraph})
                outcome = [compiled(torch.ones(2)).tolist() for _ in range(3)]
            except Exception as error:
                outcome = type(error).__name__, str(error).partition("from user code")[0]
            print(function.__name__, outcome, sizes, dict(counters["frames"]), dict(counters["graph_break"]))
        print(config.lr)
        """
    )

    result, alone = rlprof_run(script), bare_run(script)

    assert alone.returncode == 0, alone.stderr
    assert (result.code, result.out) == (0, alone.stdout)
    # Those outside of graphs: the last line at least.
    assert total(result, "config_accesses") >= 1


@HYDRA
def test_a_program_of_hydra_works_alike(write, rlprof_run, bare_run):
    write("lr: 0.1\nnet: {width: 8}\n", name="config.yaml")
    script = write(
        """
        import hydra
        from omegaconf import DictConfig, OmegaConf

        @hydra.main(version_base=None, config_path=".", config_name="config")
        def main(config: DictConfig):
            for _ in range(1000):
                config.net.width
            print(OmegaConf.to_yaml(config), config.lr)

        main()
        """
    )

    result = rlprof_run(script, "lr=0.2", "hydra.run.dir=.")
    alone = bare_run(script, "lr=0.2", "hydra.run.dir=.")

    assert alone.returncode == 0, alone.stderr
    assert (result.code, result.out, result.err) == (0, alone.stdout, "")
    assert total(result, "config_accesses") >= 2000


@ML_COLLECTIONS
def test_accesses_of_ml_collections(write, rlprof_run):
    script = write(
        """
        import ml_collections

        config = ml_collections.ConfigDict({"lr": 0.1, "net": {"width": 8}})
        frozen = ml_collections.FrozenConfigDict(config)
        for _ in range(1000):
            config.lr, config["lr"], config.get("lr"), frozen.lr         # 4
            config.net.width                                             # 2
            hasattr(config, "momentum"), config.get("momentum", 0.9)     # none
        """
    )

    result = rlprof_run(script)

    assert result.code == 0, result.err
    # And what the library itself reads as it builds and freezes them.
    assert 6000 <= total(result, "config_accesses") < 6100
