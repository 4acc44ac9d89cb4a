"""Streams on which both sides speak before either has ended, as gRPC has them: through the gateway, and through its filter.

Client and server are Node's own HTTP/2; each waits for what the other has said, so whatever is held back stops both.
"""
import json
import os
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from test_tls_upstream import Server  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

SECRET = "tq7-Value-with-some-length-0123456789"
# Answers each message with itself and what it was told to add, and ends when the client does.
SERVE = """
const http2 = require('http2'), fs = require('fs');
const server = http2.createSecureServer({ key: fs.readFileSync('KEY'), cert: fs.readFileSync('CERT') });
server.on('stream', (stream, headers) => {
    const end = { 'plain': '.', 'begins': 'tq7', 'token': 'ghp_16C7' }[headers['x-end']];
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.on('data', (piece) => stream.write('echo ' + piece + ' ' + (headers.authorization || '') + ' ' + end));
    stream.on('end', () => stream.end());
    stream.on('error', () => {});
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"""
# Says one thing, waits for the answer to it, and says the next.
ASK = """
const http2 = require('http2');
const client = http2.connect('https://open.test:' + process.argv[2]);
client.on('error', (error) => { console.log(JSON.stringify({ failed: String(error) })); process.exit(1); });
const stream = client.request({ ':method': 'POST', ':path': '/pkg.Service/Talk', 'content-type': 'application/grpc', te: 'trailers',
                                'x-end': process.argv[3] });
const said = ['one', 'two', 'three'], heard = [];
let status = null, text = '', ends = { plain: '.', begins: 'tq7', token: 'ghp_16C7' }[process.argv[3]];
stream.setEncoding('utf8');
stream.on('trailers', (fields) => { status = fields['grpc-status']; });
stream.on('data', (piece) => {
    text += piece;
    if (!text.endsWith(ends)) return;
    heard.push(text);
    text = '';
    if (heard.length < said.length) stream.write(said[heard.length]);
    else stream.end();
});
stream.on('end', () => { console.log(JSON.stringify({ heard, status })); client.close(); });
stream.write(said[0]);
"""


@pytest.fixture(scope="module")
def talker():
    if not shutil.which("node") or not shutil.which("openssl"):
        pytest.skip("no node or no openssl on this machine")
    origin = Server()
    (origin.folder / "serve.js").write_text(SERVE.replace("KEY", str(origin.folder / "server.key"))
                                            .replace("CERT", str(origin.folder / "server.pem")))
    with subprocess.Popen(["node", origin.folder / "serve.js"], stdout=subprocess.PIPE, text=True) as process:
        origin.talk = int(process.stdout.readline())
        yield origin
        process.kill()
    origin.close()


@pytest.mark.parametrize("end", ["plain", "begins", "token"])
@pytest.mark.parametrize("how", ["plain", "filter", "credential"])
def test_messages_pass_in_both_directions_before_either_side_ends(run_box, talker, workdir, how, end):
    (workdir / "ask.js").write_text(ASK)
    (workdir / "ask.js").chmod(0o644)
    policy = {"version": 1, "network": {"allow": [f"POST open.test:{talker.talk}/**"], "hosts": {"open.test": "127.0.0.1"},
                                        "roots": [str(talker.folder / "root.pem")]}}
    if how == "filter":
        policy["network"]["filter"] = "on"
    if how == "credential":
        policy["credentials"] = {"own": {"from": "env:OWN", "hosts": [f"open.test:{talker.talk}"]}}
    (workdir / "policy.json").write_text(json.dumps(policy))
    done = run_box("--policy", str(workdir / "policy.json"), "--read", str(workdir), "--", "node", str(workdir / "ask.js"),
                   str(talker.talk), end, env={"OWN": SECRET}, timeout=60)
    assert done.code == 0, done
    answer = json.loads(done.out)
    assert answer["status"] == "0" and [one.split()[1] for one in answer["heard"]] == ["one", "two", "three"]
    assert SECRET not in done.out.decode() and (how == "credential") == ("*" * 20 in done.out.decode())
