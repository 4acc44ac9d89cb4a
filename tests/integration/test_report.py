"""`ringfort audit report`: what agents did, what they were granted and never used, and the policy that would do."""
import json
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from watchers import IS_ROOT, Post  # noqa: E402

WHO = ["root", "user"] if IS_ROOT else ["user"]


@pytest.fixture(name="make_post")
def _make_post(ringfort, public):
    """Makes posts, which are gone afterwards."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="report-", dir=public))
    top.chmod(0o755)
    posts = []

    def make(who, **options):
        posts.append(Post(ringfort, who, top / f"post{len(posts)}", **options))
        return posts[-1]
    yield make
    for post in posts:
        post.close()
    shutil.rmtree(top, ignore_errors=True)


# --- what is recorded for it ---

@pytest.mark.parametrize("who", WHO)
def test_the_text_of_a_policy_is_recorded_once_and_without_values(make_post, who):
    post = make_post(who)
    post.stand()
    for _ in range(3):
        done = post.run("run", "--agent", "a", "-e", "API_TOKEN=hunter2hunter2", "--", "sh", "-c", "printf 12345; printf 678 >&2")
        assert done.returncode == 0, done.stderr
    assert post.run("run", "--agent", "a", "--time", "7s", "--", "true").returncode == 0
    texts = post.events("--kind", "policy.text")
    assert len(texts) == 2 and len({one["policy"] for one in texts}) == 2
    assert "agent: a\n" in texts[0]["text"] and "API_TOKEN" in texts[0]["text"] and "time: 7s" in texts[1]["text"]
    started = post.events("--kind", "run.started")
    assert [one["policy"] for one in started] == [texts[0]["policy"]] * 3 + [texts[1]["policy"]]
    ended = post.events("--kind", "run.ended")
    assert [one["output"] for one in ended] == [8, 8, 8, 0]
    assert all(len(one["grades"]) == 10 and set(one["grades"]) <= set("nrsh") for one in ended)
    assert all(b"hunter2" not in path.read_bytes() for path in post.log.iterdir())
    assert "API_TOKEN" not in post.run("audit", "show").stdout  # a table has no room for texts


def test_a_long_policy_is_recorded_in_parts(make_post):
    post = make_post("user")
    post.stand()
    folders = [post.top / f"{'x' * 40}{i}" for i in range(150)]
    for folder in folders:
        folder.mkdir()
        folder.chmod(0o755)
    post.top.chmod(0o755)
    policy = post.top / "policy.json"
    policy.write_text(json.dumps({"files": {"read": [str(folder) for folder in folders]}}))
    policy.chmod(0o644)
    done = post.run("run", "--policy", policy, "--", "true")
    assert done.returncode == 0, done.stderr
    parts = post.events("--kind", "policy.text")
    assert len(parts) > 2 and [one["part"] for one in parts] == list(range(1, len(parts) + 1))
    assert {one["count"] for one in parts} == {len(parts)} and len({one["policy"] for one in parts}) == 1
    text = "".join(one["text"] for one in parts)
    assert all(str(folder) in text for folder in folders)
