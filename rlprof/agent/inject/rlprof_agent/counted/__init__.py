"""Tell what is counted without touching the script: one file per family of libraries.

Such a file has a function ``count(module)`` for each module that it takes an interest in; it is
called right after that module was imported. ``WATCHED`` names them all, so that a process which
never imports a library pays one look-up per import and nothing else.

Frames of this folder are left out of every stack: what they call is the program's.
"""

from __future__ import annotations

WATCHED = {
    **dict.fromkeys(
        (
            "cloudpickle.cloudpickle",
            "cloudpickle.cloudpickle_fast",
            "joblib.externals.cloudpickle.cloudpickle",
            "joblib.externals.cloudpickle.cloudpickle_fast",
            "ray.cloudpickle.cloudpickle",
            "ray.cloudpickle.cloudpickle_fast",
        ),
        ("pickles", "take_part"),
    ),
    "dm_env._environment": ("dm_envs", "count_envs"),
    "gym.core": ("gymnasium_envs", "count_envs"),
    "gym.vector.vector_env": ("gymnasium_envs", "count_vector_envs"),
    "gymnasium.core": ("gymnasium_envs", "count_envs"),
    "gymnasium.vector.vector_env": ("gymnasium_envs", "count_vector_envs"),
    "logging": ("standard_library", "count_log_records"),
    "ml_collections.config_dict.config_dict": ("configurations", "count_config_dicts"),
    "multiprocessing.connection": ("standard_library", "count_messages"),
    "multiprocessing.util": ("process_starts", "count_spawns"),
    "omegaconf.dictconfig": ("configurations", "count_dict_accesses"),
    "omegaconf.listconfig": ("configurations", "count_list_accesses"),
    "omegaconf.omegaconf": ("configurations", "count_conversions"),
    "os": ("process_starts", "count_starts"),
    "pettingzoo.utils.env": ("pettingzoo_envs", "count_envs"),
    "pufferlib.environment": ("pufferlib_envs", "count_native_envs"),
    "pufferlib.pufferlib": ("pufferlib_envs", "count_native_envs"),
    "pufferlib.vector": ("pufferlib_envs", "count_vector_envs"),
    "sb3_contrib.common.maskable.evaluation": ("evaluations", "count_apart"),
    "stable_baselines3.common.evaluation": ("evaluations", "count_apart"),
    "stable_baselines3.common.vec_env.base_vec_env": ("stable_baselines3_envs", "count_vec_envs"),
    "subprocess": ("process_starts", "count_subprocesses"),
    "torch._dynamo.variables.builder": ("torch_syncs", "stay_out_of_graphs"),
    "torch._tensor": ("torch_syncs", "count_syncs"),
    "torch.cuda.graphs": ("torch_training", "count_replays"),
    "torch.optim.optimizer": ("torch_training", "count_updates"),
    "torch.utils.data.dataloader": ("torch_training", "count_batches"),
    "torchrl.envs.async_envs": ("torchrl_envs", "count_async_pools"),
    "torchrl.envs.batched_envs": ("torchrl_envs", "count_batched_envs"),
    "torchrl.envs.common": ("torchrl_envs", "count_envs"),
    "tqdm.std": ("tqdm_bars", "count_updates"),
}
"""Module of a library: the file of this folder and its function that counts in it."""
