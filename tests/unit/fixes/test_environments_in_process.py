from __future__ import annotations

import pytest

from rlprof.fixes.rewrites.environments_in_process import FIX
from tests.fix_factory import fixed, refusal

ASKED = "Step the environments in one process: ..."


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (
            "import gymnasium as gym\nenvs = gym.vector.AsyncVectorEnv([f] * 4)  # fast?\n",
            "import gymnasium as gym\nenvs = gym.vector.SyncVectorEnv([f] * 4)  # fast?\n",
        ),
        (
            "from gymnasium.vector import AsyncVectorEnv, VectorEnv\nenvs = AsyncVectorEnv(\n    [f]\n)\n",
            "from gymnasium.vector import SyncVectorEnv, VectorEnv\nenvs = SyncVectorEnv(\n    [f]\n)\n",
        ),
        (
            "from gymnasium.vector import AsyncVectorEnv\nenvs: AsyncVectorEnv = AsyncVectorEnv([f])\n",
            "from gymnasium.vector import SyncVectorEnv, AsyncVectorEnv\nenvs: AsyncVectorEnv = SyncVectorEnv([f])\n",
        ),
        (
            "from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv\nenvs = (DummyVecEnv if x else SubprocVecEnv)\ny = SubprocVecEnv([f])\n",
            "from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv\nenvs = (DummyVecEnv if x else SubprocVecEnv)\ny = DummyVecEnv([f])\n",
        ),
        (
            "from stable_baselines3.common.vec_env import SubprocVecEnv\nfrom a import make_vec_env\ny = make_vec_env(i, vec_env_cls=SubprocVecEnv)\n",
            "from stable_baselines3.common.vec_env import DummyVecEnv\nfrom a import make_vec_env\ny = make_vec_env(i, vec_env_cls=DummyVecEnv)\n",
        ),
        (
            "import gymnasium as gym\nenvs = gym.make_vec('A-v1', 4, vectorization_mode=\"async\")\n",
            "import gymnasium as gym\nenvs = gym.make_vec('A-v1', 4, vectorization_mode=\"sync\")\n",
        ),
    ],
)
def test_the_class_is_another_one(text, new):
    assert fixed(FIX, text, told=ASKED) == new


HEAD = "from gymnasium.vector import AsyncVectorEnv\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{HEAD}a = AsyncVectorEnv([f], shared_memory=False)\n", "shared_memory is given"),
        (
            "import gymnasium\na = gymnasium.make_vec(i, vectorization_mode='async', vector_kwargs=k)",
            "vector_kwargs is given",
        ),
        (f"{HEAD}a = AsyncVectorEnv([f], None)\n", "without their names"),
        (f"{HEAD}a = AsyncVectorEnv([f], **more)\n", "by stars"),
        (f"{HEAD}a = AsyncVectorEnv([f])\nb = AsyncVectorEnv([f])\n", "several"),
        ("from mine import AsyncVectorEnv\na = AsyncVectorEnv([f])\n", "none"),
    ],
)
def test_others_are_left_alone(text, why):
    assert why in refusal(FIX, text, told=ASKED)


def test_fewer_workers_are_for_the_user_to_choose():
    assert "for you to choose" in refusal(
        FIX, f"{HEAD}a = AsyncVectorEnv([f])\n", told="Let 2 workers step several"
    )
