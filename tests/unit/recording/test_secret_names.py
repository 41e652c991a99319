from __future__ import annotations

import pytest

from rlprof.recording.redaction.names import is_secret_name


@pytest.mark.parametrize(
    "name",
    [
        *("API_KEY", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "HF_TOKEN", "apiKey", "APIKey"),
        *("PGPASSWORD", "MYSQL_PWD", "GOOGLE_APPLICATION_CREDENTIALS", "SENTRY_DSN", "my_passphrase", "dbpass", "seed-phrase", "mnemonic"),
        *("SSH_AUTH_SOCK", "GITHUB_PAT", "MY_CREDS", "SLURM_JWT", "AccountKey", "SharedAccessSignature", "oauth2"),
        *("key", "keys", "token", "password1", "context.token", "max_api_key", "n_passwords", "data.api_key"),
        *("X-Api-Key", "PRIVATE-TOKEN", "Cookie", "Authorization", "sessionid", "session_id", "wandbtoken", "openaikey"),
    ],
)  # fmt: skip
def test_names_of_secrets(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "-", "monkey", "keyboard", "turnkey", "uncertainty", "author", "tokenizer", "passes", "compass", "lr"),
        *("num_tokens", "max_new_tokens", "pad_token_id", "tokens_per_step", "context_tokens", "token_dim"),
        *("encoder.mlp_keys", "obs_key", "sort-key", "rng_key", "key_dim", "num_key_value_heads", "metric.key_value"),
        *("forward_pass", "num_sessions", "session", "signal", "design", "patience", "path", "token_path", "key-file"),
    ],
)  # fmt: skip
def test_names_of_others(name):
    assert not is_secret_name(name)
