from __future__ import annotations

import pytest

from rlprof.recording.redact import REDACTED, redact_arguments, redact_environment, redact_text


@pytest.mark.parametrize(
    "name",
    [
        "API_KEY",
        "WANDB_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "HF_TOKEN",
        "GITHUB_TOKEN",
        "PGPASSWORD",
        "MYSQL_PWD",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "SENTRY_DSN",
        "my_passphrase",
        "SSH_AUTH_SOCK",
    ],
)
def test_values_of_secret_looking_names_go_whole(name):
    assert redact_environment({name: "8f2e77aa"}) == {name: REDACTED}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/home/me/.venv/bin"),
        ("HOME", "/home/me"),
        ("OMP_NUM_THREADS", "8"),
        ("CUDA_VISIBLE_DEVICES", "0,1"),
        ("PYTHONPATH", "/home/me/project"),
        ("WANDB_PROJECT", "ant-walks"),
        ("LC_ALL", "C.UTF-8"),
    ],
)
def test_what_explains_a_run_stays(name, value):
    assert redact_environment({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("postgres://me:secret@db:5432/runs", f"postgres://{REDACTED}@db:5432/runs"),
        ("https://ghp_abcdef@github.com/x/y", f"https://{REDACTED}@github.com/x/y"),
        ("https://host/x?token=abc&page=2", f"https://host/x?token={REDACTED}&page=2"),
        ("https://host/x?X-Amz-Signature=abc", f"https://host/x?X-Amz-Signature={REDACTED}"),
        ("https://host:8080/plain", "https://host:8080/plain"),
        ("me@example.org", "me@example.org"),
    ],
)
def test_credentials_in_urls_go_and_the_rest_stays(text, redacted):
    assert redact_text(text) == redacted
    assert redact_environment({"URL": text}) == {"URL": redacted}


def test_secrets_of_a_command_line():
    command = (
        "python", "train.py", "--api-key", "abc", "--token=abc", "wandb.api_key=abc",
        "--lr", "3e-4", "--password", "--verbose", "https://u:p@host/",
    )  # fmt: skip

    assert redact_arguments(command) == (
        "python", "train.py", "--api-key", REDACTED, f"--token={REDACTED}",
        f"wandb.api_key={REDACTED}", "--lr", "3e-4", "--password", "--verbose",
        f"https://{REDACTED}@host/",
    )  # fmt: skip


def test_scripts_and_folders_with_telling_names_stay():
    command = ("python", "/data/keys/tokenizer/train_tokens.py", "tokenize.py", "--lr=1")

    assert redact_arguments(command) == command


def test_a_secret_inside_a_shell_command_goes():
    command = ("bash", "-c", "export A=1; WANDB_API_KEY=abc python train.py --lr=3e-4")

    assert redact_arguments(command)[2] == (
        f"export A=1; WANDB_API_KEY={REDACTED} python train.py --lr=3e-4"
    )


def test_options_that_only_contain_the_letters_of_a_secret_stay():
    command = ("train.py", "uncertainty_coef=0.1", "--num-tokens", "4096", "monkey=3", "author=me")

    assert redact_arguments(command) == command


def test_a_password_with_an_at_sign_goes_whole():
    assert redact_text("postgres://me:p@ss@db/runs") == f"postgres://{REDACTED}@db/runs"
