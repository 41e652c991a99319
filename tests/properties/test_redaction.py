"""No part of a secret survives redaction, whatever is in it; what holds none is left as it is."""

from __future__ import annotations

import json
import re
import shlex
from urllib.parse import quote

from hypothesis import assume, example, given
from hypothesis import strategies as st

from rlprof.recording.redaction.arguments import redact_argument, redact_arguments, redact_line

MARK = "Zq7"
"""No text around a secret holds it, so it survives only where a part of the secret does."""

NAMES = st.sampled_from(
    [
        *("api_key", "api-key", "apiKey", "WANDB_API_KEY", "wandb.api_key", "token", "HF_TOKEN", "githubToken"),
        *("password", "PGPASSWORD", "passwd", "password2", "passphrase", "pwd", "secret", "client-secret"),
        *("AWS_SECRET_ACCESS_KEY", "AccountKey", "credentials", "auth", "oauth2", "cookie", "GITHUB_PAT", "jwt"),
        *("my.private_key", "encryption.key", "session_id", "sas_token", "Authorization", "dsn"),
    ]
)  # fmt: skip
PIECES = [
    MARK,
    *" ;&|,'\"\\{}[]()<>$`=:/@?#%-+\n\t.!*~^0aBé",
    "--",
    "$(",
    "key",
    "token=",
    "a: ",
    "x://",
    ' b="c" ',
]
SECRETS = st.lists(st.sampled_from(PIECES), max_size=12).map(
    lambda pieces: "".join((*pieces, MARK))
)
PLAIN = SECRETS.map(lambda secret: MARK + re.sub(r"[\s,;:=@?&{}()\[\]\"'\\]", "", secret))
"""As short forms of YAML and Hydra have them, without quotes."""
LINES = st.lists(st.sampled_from([*PIECES, "bash -c ", "--api-key ", "<<E\n", '"token": '])).map(
    "".join
)

WORDS = st.from_regex(
    r"(--?)?(seed|lr|n_envs|env\.id|run|total-timesteps|gae_lambda|policy)([=:](ppo|cart_pole|[0-9]{1,6}|0\.99))?"
    r"|[a-z]{1,6}/[a-z]{1,6}\.(py|yaml)|[A-Z][a-z]{2,6}-v[0-9]",
    fullmatch=True,
)


def is_another_option(secret):
    return re.fullmatch(r"--[a-z]+([-_.][a-z]+)*(=.*)?", secret, re.DOTALL) is not None


@given(NAMES, SECRETS)
@example("password", f"-{MARK}")
def test_after_an_option(name, secret):
    assume(not is_another_option(secret))

    told = redact_arguments(("train.py", f"--{name}", secret, "--seed", "3"))

    assert MARK not in "".join(told)
    assert (told[1], told[3:]) == (f"--{name}", ("--seed", "3"))


@given(
    NAMES,
    SECRETS,
    st.sampled_from(["", "-", "--", "+", "ARGS=--lr 3 --", "export ", "a=1 b=2 ", "x;"]),
)
def test_after_a_name(name, secret, before):
    for sign in ("=", ": ", " = "):
        assume(not secret.startswith(('"', "'", "b", "r")) or before in ("", "-", "--", "+"))
        assert MARK not in redact_argument(f"{before}{name}{sign}{secret}")


@given(NAMES, SECRETS, st.sampled_from(["", "\n", " "]))
def test_in_json_and_python(name, secret, space):
    document = {
        "seed": 3,
        name: secret,
        "args": ["--lr", {name: [secret, {"a": secret}]}, f"--{name}", secret],
    }

    for text in (
        json.dumps(document),
        json.dumps(document, ensure_ascii=False, indent=2),
        repr(document),
    ):
        assert MARK not in redact_argument(f"config={space}{text}")
    nested = json.dumps({"config": json.dumps({name: secret, "lr": 1}), "seed": 3})
    assert MARK not in redact_argument(nested)
    assert '"seed": 3' in redact_argument(nested)
    assert MARK not in redact_argument(f"run({name.rpartition('.')[2]}={secret!r}, seed=3)")


@given(NAMES, PLAIN)
def test_in_short_forms_of_yaml(name, secret):
    told = redact_argument(f"wandb={{project:x,{name}:{secret},other:{{{name}: {secret}}},seed:3}}")

    assert MARK not in told
    assert told.endswith(",seed:3}")


@given(NAMES, SECRETS)
def test_in_headers_and_urls(name, secret):
    assert MARK not in redact_arguments(("curl", "-H", f"X-{name}: {secret}"))[2]
    assert MARK not in redact_arguments(("curl", "-H", f"X-A: Bearer {secret.strip()}"))[2]
    query = f"https://host/x?page=1&{name}={quote(secret)}&seed=3"
    assert MARK not in redact_argument(query)
    assert redact_argument(query).endswith("&seed=3")
    for url in (f"postgres://me:{MARK}{secret}@db:5432/runs", f"--db=redis://:{MARK}{secret}@db"):
        assert MARK not in redact_argument(url)


@given(NAMES, SECRETS)
def test_in_lines_of_a_shell(name, secret):
    assume(not is_another_option(secret))
    word = shlex.quote(secret)
    variable = re.sub(r"[.-]", "_", name)
    line = (
        f"set -e; {variable}={word} python t.py --lr 3 --{name} {word} --seed 3 && export {variable}={word}; "
        f"curl -H {shlex.quote(f'X-{name}: {secret}')} | bash -c {shlex.quote(f'a --{name} {word} b')}; echo done"
    )

    assert MARK not in redact_line(line)
    assert redact_line(line).endswith("; echo done")
    assert redact_arguments(("bash", "-c", line))[2] == redact_line(line)


@given(st.lists(st.one_of(LINES, NAMES.map("--{}".format), WORDS), max_size=4))
def test_redacting_twice_is_redacting_once(arguments):
    told = redact_arguments(arguments)

    assert redact_arguments(told) == told


@given(LINES)
def test_redacting_a_line_twice_is_redacting_it_once(line):
    assert redact_line(redact_line(line)) == redact_line(line)


@given(st.lists(WORDS))
def test_what_holds_no_secret_stays(words):
    assert redact_arguments(words) == tuple(words)
    assert redact_line(" ".join(words)) == " ".join(words)
