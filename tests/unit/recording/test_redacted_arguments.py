from __future__ import annotations

import pytest

from rlprof.recording.redaction.arguments import (
    redact_argument,
    redact_arguments,
    redact_line,
    without_secrets_of,
)

R = "[redacted]"
SECRET = "hunter2"
LOGIN_40_HEX = "8c1f3a7e9b2d4056c7e1f3a5b9d2e4068a7c1f3e"

OPTIONS = {
    ("--api-key", SECRET): ("--api-key", R),
    ("--api_key", SECRET): ("--api_key", R),
    ("--apiKey", SECRET): ("--apiKey", R),
    ("-token", SECRET): ("-token", R),
    ("-k", SECRET): ("-k", R),
    ("--password", f"-{SECRET}"): ("--password", R),
    ("--password", f"--{SECRET}"): ("--password", R),
    ("--password", f"{SECRET} with spaces; and & more"): ("--password", R),
    ("--password", f'{{"quoted": "{SECRET}"}}'): ("--password", R),
    ("--wandb.api-key", SECRET, "--lr", "3e-4"): ("--wandb.api-key", R, "--lr", "3e-4"),
    ("--hf-token", SECRET): ("--hf-token", R),
    ("--github-pat", SECRET): ("--github-pat", R),
    ("--creds", SECRET): ("--creds", R),
    ("--jwt", SECRET): ("--jwt", R),
    ("--max-api-key", SECRET): ("--max-api-key", R),
    ("--header", "Authorization:", "Bearer", SECRET): ("--header", "Authorization:", R, R),
    ("+token", SECRET): ("+token", R),
    ("aws", "configure", "set", "aws_secret_access_key", SECRET): (
        *("aws", "configure", "set", "aws_secret_access_key", R),
    ),
    ("login", "password", SECRET): ("login", "password", R),
    ("mysql", "-u", "root", f"-p{SECRET}", "runs"): ("mysql", "-u", "root", f"-p{R}", "runs"),
    ("/usr/bin/mysqldump", f"-p{SECRET}"): ("/usr/bin/mysqldump", f"-p{R}"),
    ("mariadb", "-p", "runs"): ("mariadb", "-p", "runs"),
    ("sshpass", "-p", SECRET, "ssh", "host", "-p", "22"): (
        *("sshpass", "-p", R, "ssh", "host", "-p", "22"),
    ),
    ("curl", "-su", f"bob:{SECRET}", "https://x"): ("curl", "-su", f"bob:{R}", "https://x"),
    ("python", "train.py", f"-p{SECRET}"): ("python", "train.py", f"-p{SECRET}"),
    ("--tokens", SECRET, f"{SECRET}3", "--lr", "3"): ("--tokens", R, R, "--lr", "3"),
    ("--tokens", SECRET, "1", SECRET, "--lr", "3"): ("--tokens", R, "1", R, "--lr", "3"),
    ("--password", "=", SECRET): ("--password", "=", R),
    ("--env", f'{{"value": "{SECRET}", "name": "PASSWORD"}}'): (
        *("--env", f'{{"value": "{R}", "name": "PASSWORD"}}'),
    ),
    ("--env", '{"name": "LR", "value": "3"}'): ("--env", '{"name": "LR", "value": "3"}'),
    ("--tokens", "512", "train.py"): ("--tokens", "512", "train.py"),
    ("--api-keys", SECRET, SECRET, "-v", "x"): ("--api-keys", R, R, "-v", "x"),
    ("--password=", SECRET, "x"): ("--password=", R, "x"),
    ("--header", "bearer", SECRET, "x"): ("--header", "bearer", R, "x"),
}
NAMED_VALUES = {
    f"--token={SECRET}": f"--token={R}",
    f"--password={SECRET} a;b&c | d": f"--password={R}",
    f"--password='{SECRET}' \"b": f"--password={R}",
    f"--password={SECRET}\nsecond line": f"--password={R}",
    f"WANDB_API_KEY={SECRET}": f"WANDB_API_KEY={R}",
    f"wandb.api_key={SECRET}": f"wandb.api_key={R}",
    f"+wandb.api_key={SECRET}": f"+wandb.api_key={R}",
    f"++logger.wandb.apiKey={SECRET}": f"++logger.wandb.apiKey={R}",
    f"context.token={SECRET}": f"context.token={R}",
    f"-Dapi.key={SECRET}": f"-Dapi.key={R}",
    f"-ePGPASSWORD={SECRET}": f"-ePGPASSWORD={R}",
    f"password = {SECRET} words": f"password = {R}",
    f"token->{SECRET}": f"token->{R}",
    f"SecretStr('{SECRET}')": f"SecretStr('{R}')",
    f'cfg.set_token("{SECRET}", 3)': f'cfg.set_token("{R}", 3)',
    f"a: |\n -----BEGIN RSA PRIVATE KEY-----\n {SECRET}\n -----END RSA PRIVATE KEY-----": (
        f"a: |\n -----BEGIN RSA PRIVATE KEY-----{R}-----END RSA PRIVATE KEY-----"
    ),
    f"ARGS=--api-key {SECRET} --lr 3": f"ARGS=--api-key {R}",
    f"AccountName=me;AccountKey={SECRET}==;EndpointSuffix=x": f"AccountName=me;AccountKey={R}",
    f"project=x,api_key={SECRET},mode=online": f"project=x,api_key={R},mode=online",
    f"machine api.x.io login me password {SECRET}": f"machine api.x.io login me password {R}",
    f"python train.py --api-key {SECRET}": f"python train.py --api-key {R}",
}
STRUCTURES = {
    f'{{"password":"{SECRET}"}}': f'{{"password":"{R}"}}',
    f'{{"lr": 1, "password": "{SECRET}, \\" x", "seed": 3}}': f'{{"lr": 1, "password": "{R}", "seed": 3}}',
    f"{{'token': '{SECRET}', 'seed': 3}}": f"{{'token': '{R}', 'seed': 3}}",
    f"wandb={{api_key:{SECRET}}}": f"wandb={{api_key:{R}}}",
    f"wandb={{api_key:{SECRET},project:x}}": f"wandb={{api_key:{R},project:x}}",
    f"{{wandb: {{api_key: {SECRET} words}}}}": f"{{wandb: {{api_key: {R}}}}}",
    f"{{secrets: {{a: {SECRET}, b: [{SECRET}, ')']}}, seed: 3}}": f"{{secrets: {R}, seed: 3}}",
    f'{{"api_keys": ["{SECRET}", "]{SECRET}"], "seed": 3}}': f'{{"api_keys": {R}, "seed": 3}}',
    f'{{"cmd": "{{\\"token\\": \\"{SECRET}\\"}}", "lr": 3}}': f'{{"cmd": "{{\\"token\\": \\"{R}\\"}}", "lr": 3}}',
    f'["python", "--api-key", "{SECRET}", "--lr"]': f'["python", "--api-key", "{R}", "--lr"]',
    f'[{{"name": "API_KEY", "value": "{SECRET}"}}, 3]': f'[{{"name": "API_KEY", "value": "{R}"}}, 3]',
    f"wandb.login(key='{SECRET}'); main(3)": f"wandb.login(key='{R}'); main(3)",
    f"os.environ['API_KEY'] = '{SECRET}'; main()": f"os.environ['API_KEY'] = '{R}'; main()",
    f"environ.setdefault('HF_TOKEN', '{SECRET}')": f"environ.setdefault('HF_TOKEN', '{R}')",
    f"wandb:\n  api_key: {SECRET}\n  project: x": f"wandb:\n  api_key: {R}",
    f"wandb.api_key: {SECRET}": f"wandb.api_key: {R}",
    f"{{password: '{SECRET}": f"{{password: {R}",
    f'{{"token": null, "key": "{SECRET}"}}': f'{{"token": null, "key": "{R}"}}',
}
HEADERS_AND_URLS = {
    f"Authorization: Bearer {SECRET}": f"Authorization: {R}",
    f"X-Api-Key: {SECRET}": f"X-Api-Key: {R}",
    f"PRIVATE-TOKEN:{SECRET}": f"PRIVATE-TOKEN:{R}",
    f"Cookie: a={SECRET}; b={SECRET}": f"Cookie: {R}",
    f"X-Other: Bearer {SECRET} {SECRET}": f"X-Other: Bearer {R}",
    f"postgres://me:{SECRET}@db:5432/runs": f"postgres://{R}@db:5432/runs",
    f"postgres://me:{SECRET}@a@db/runs": f"postgres://{R}@db/runs",
    f"postgres://me:a/{SECRET}@db/runs": f"postgres://{R}@db/runs",
    f"postgres://me:a {SECRET}@db/runs": f"postgres://{R}@db/runs",
    f"redis://:{SECRET}@cache:6379/0": f"redis://{R}@cache:6379/0",
    f"https://{SECRET}@github.com/x/y": f"https://{R}@github.com/x/y",
    f"--url=https://host/x?token={SECRET}&page=2": f"--url=https://host/x?token={R}&page=2",
    f"https://host/x?X-Amz-Signature={SECRET}": f"https://host/x?X-Amz-Signature={R}",
    f"https://host/x?access%5Ftoken={SECRET}&page=2": f"https://host/x?access%5Ftoken={R}&page=2",
    f"https://host/x?%74oken={SECRET}": f"https://host/x?%74oken={R}",
    f"https://host/x#access_token={SECRET}": f"https://host/x#access_token={R}",
    f"me:{SECRET}@proxy:3128": f"me:{R}@proxy:3128",
    f"http_proxy=me:{SECRET}@proxy:3128": f"http_proxy=me:{R}@proxy:3128",
    f"x://a:b?token={SECRET}@host": f"x://{R}",
}
LINES = {
    f"API_KEY={SECRET} make": f"API_KEY={R} make",
    f"export A=1; API_KEY={SECRET} python t.py --lr=3": f"export A=1; API_KEY={R} python t.py --lr=3",
    f"python t.py --api-key {SECRET} --lr 3": f"python t.py --api-key {R} --lr 3",
    f"API_KEY='a b;{SECRET}' python t.py": f"API_KEY={R} python t.py",
    f"API_KEY=a\\ {SECRET} python t.py": f"API_KEY={R} python t.py",
    f"API_KEY=$'it\\'s {SECRET}' python t.py": f"API_KEY={R} python t.py",
    f'API_KEY=$(echo "a {SECRET}") python t.py': f"API_KEY={R} python t.py",
    f"API_KEY=`echo {SECRET}` python t.py": f"API_KEY={R} python t.py",
    f"API_KEY='a {SECRET} python t.py": f"API_KEY={R}",
    f"curl -H \"X-Api-Key: {SECRET}\" x && ls": f"curl -H 'X-Api-Key: {R}' x && ls",
    f"bash -c 'python t.py --token {SECRET} --lr 3'": f"bash -c 'python t.py --token {R} --lr 3'",
    f"python - <<E && ls\nseed: 3\nkey: a {SECRET}\nE": f"python - <<E && ls\nseed: 3\nkey: {R}",
    f"cat <<< x; python t.py --token {SECRET}": f"cat <<< x; python t.py --token {R}",
    f"[ $TOKEN = {SECRET} ]": f"[ $TOKEN = {R} ]",
}  # fmt: skip
RANDOM = {
    ("wandb", "login", LOGIN_40_HEX): ("wandb", "login", R),
    ("train.py", "q7Zp0Lx2Vb9Nk4Tr8Wm1"): ("train.py", R),
    ("train.py", "sk-proj-q7Zp0Lx2Vb9Nk4Tr8Wm1"): ("train.py", R),
    ("train.py", "a=ghp_q7Zp0Lx2Vb9Nk4Tr8Wm1q7Zp0Lx2"): ("train.py", f"a={R}"),
    ("train.py", "AKIAQ7ZP0LX2VB9NK4TR"): ("train.py", R),
    ("train.py", "q7Zp0Lx2/Vb9Nk4Tr8Wm1+q7Zp0Lx2Vb9Nk4Tr8W"): ("train.py", R),
    ("https://hooks.slack.com/services/T0A/B0B/q7Zp0Lx2Vb9Nk4Tr8Wm1xYzA",): (
        f"https://hooks.slack.com/services/T0A/B0B/{R}",
    ),
    ("https://api.telegram.org/bot12:q7Zp0Lx2Vb9Nk4Tr8Wm1q7Zp",): (
        f"https://api.telegram.org/bot12:{R}",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("command", "told"), [*OPTIONS.items(), *RANDOM.items()])
def test_what_stands_after_an_option_or_is_long_and_random_goes(command, told):
    assert redact_arguments(command) == told
    assert redact_arguments(told) == told


@pytest.mark.parametrize(
    ("argument", "told"),
    [*NAMED_VALUES.items(), *STRUCTURES.items(), *HEADERS_AND_URLS.items()],
)
def test_what_stands_after_a_name_goes_up_to_its_end(argument, told):
    assert redact_argument(argument) == told
    assert redact_argument(told) == told


@pytest.mark.parametrize(("line", "told"), LINES.items())
def test_a_line_of_the_shell_keeps_its_other_words(line, told):
    assert redact_line(line) == told
    assert redact_line(told) == told


@pytest.mark.parametrize(
    "shell",
    [("bash", "-c"), ("/bin/sh", "-ec"), ("bash", "-o", "pipefail", "-lc"), ("env", "zsh", "-c")],
)
def test_shells_are_given_a_line(shell):
    assert redact_arguments((*shell, f"A=1 python t.py --token {SECRET} --lr 3", "x"))[-2:] == (
        f"A=1 python t.py --token {R} --lr 3",
        "x",
    )


def test_other_programs_are_not():
    told = redact_arguments(("python", "-c", f"token={SECRET} b"))
    assert told[-1] == f"token={R}"
    told = redact_arguments(("bash", "train.sh", "-c", f"--password={SECRET};b"))
    assert told[-1] == f"--password={R}"


@pytest.mark.parametrize(
    "command",
    [
        "--num-tokens 512 --max-tokens 4096 max_new_tokens=128 pad_token_id=50256 --context-tokens 9000",
        "monkey=3456 --keyboard qwerty --uncertainty 0.1234 author=me tokenizer=bert-base turnkey=yeah",
        "--encoder.mlp_keys .* --encoder.cnn_keys image --sort-key name rng_key=1234 key_dim=1024",
        "num_key_value_heads=1024 forward_pass=fast --passes many bypass=often pin_memory=Truth",
        "--config configs/ppo_Breakout-v5_seed_1_2026-11-22.yaml env.id=ALE/Pong-v5 +experiment=ppo_atari",
        f"--commit {LOGIN_40_HEX} commit={LOGIN_40_HEX} --run-id {LOGIN_40_HEX} git-checkout x@{LOGIN_40_HEX}",
        f"ckpt=checkpoints/{LOGIN_40_HEX}/model.pt {LOGIN_40_HEX}.pt https://host/datasets/{LOGIN_40_HEX}",
        "550e8400-e29b-41d4-a716-446655440000 --resume 3k2j9x1p run-20261122_101530-3k2j9x1p",
        "stable_baselines3.common.vec_env.subproc_vec_env.SubprocVecEnv SyntaxHighlighterBrushDax",
        "HalfCheetahBulletEnv-v0 PongNoFrameskip-v4 PPO_LunarLander-v2_1700000000_seed42 12345678901234567890123",
        "tests/test_auth.py::test_login auth.example.com:44321 tcp://10.0.0.1:2379 http://localhost:8080/x",
        f"git+ssh://git@github.com/x/y@{LOGIN_40_HEX} me@example.org user@host:path/to",
        "python:3.11@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "gh auth login token list key left --algo auth ppo secret santa cookie monster",
        "/data/keys/tokenizer/train_tokens.py tokenize.py --token-file /run/token --key-path ~/.ssh/id",
        "--no-auth run1 --use-auth true --api-key= token=null --key 3 -k 10 password=",
        "hydra.run.dir=outputs/${now:%Y-%m-%d}/${now:%H-%M-%S} agents=[{lr:1,type:ppo},{lr:2}]",
        "--tokens 512 out.txt --num-keys 64 8 obs->state tokenizer('gpt2') d.keys('obs') a%20b=c 5%=3",
        "s3://bucket/checkpoints/2026/run-9f86d081/step_00012000.pt lr=3e-4 module:Env-v0",
    ],
)
def test_what_explains_a_run_stays(command):
    words = tuple(command.split())

    assert redact_arguments(words) == words


@pytest.mark.parametrize(
    "url",
    [
        "https://mainnet.example.io/v3/{}",
        "https://hooks.example.com/webhookb2/IncomingWebhook/{}/x",
        "https://node.example.com/{}",
    ],
)
def test_hexadecimal_keys_in_urls_go(url):
    key = "b58d05dc20202217ba7acbc533ac0e75"

    assert redact_arguments((url.format(key),)) == (url.format(R),)


@pytest.mark.parametrize("key", ["h2oE-uWnXRYR01id-KUFD3lMkNk", "mYvC_3Kq9-TgXb7Zp_0fLd2RwQhU"])
def test_keys_with_hyphens_go(key):
    assert redact_arguments((key, f"https://h/{key}")) == (R, f"https://h/{R}")


def test_what_multiprocessing_starts_stays():
    code = "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=7)"
    command = ("python", "-c", code, "--multiprocessing-fork")

    assert redact_arguments(command) == command


def test_a_switch_does_not_hide_the_option_behind_it():
    command = ("--use-auth-token", "--num-envs", "8")

    assert redact_arguments(command) == command


@pytest.mark.parametrize(
    "hostile",
    ['"', '\\"', "{key:", "key=", '{"key":"a",', "a://b:", "a://", ")", "w", ",w", "aB3", "$(", "\\", "@a", "a%20",
     "%41", "token('", "-----BEGIN PRIVATE KEY-----"],
)  # fmt: skip
def test_the_longest_argument_that_there_may_be_is_read_in_no_time(hostile):
    # Any step that looks at the rest for each character would take minutes, and pytest ends it.
    text = hostile * (131_000 // len(hostile)) + f" token={SECRET}"

    assert SECRET not in redact_argument(text)
    assert SECRET not in redact_line(text)


def test_a_json_text_that_is_cut_off_within_a_string_is_hidden_to_its_end():
    """Each quote in it may begin a string that nothing closes: none may be looked for up to the end."""
    text = '{"key_0": {"a": "' + '\\"b\\": 1, ' * 40_000

    assert redact_argument(text) == f'{{"key_0": {R}'


@pytest.mark.parametrize("option", [("--api-key", SECRET), (f"--api-key={SECRET}",)])
def test_what_a_program_prints_of_its_secrets_is_taken_out(option):
    command = ("python", "train.py", *option, "-k", "abc")
    printed = f"unrecognized arguments: {' '.join(option)}\nKeyError: 'api_key' of abc"

    told = without_secrets_of(command, printed)

    # What is as short as "abc" stands in any text.
    assert told == printed.replace(SECRET, R)


def test_a_command_that_goes_on_in_the_next_line_of_a_script():
    line = f"python train.py --token \\\n  {SECRET} --lr 3"

    assert redact_line(line) == f"python train.py --token \\\n  {R} --lr 3"
