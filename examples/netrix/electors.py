"""A replica that was instrumented for Netrix: it elects leaders of terms by majority.

    electors.py ID NODES SERVER SELF [durable]

It registers at SERVER and listens at SELF. Without "durable" it forgets its vote in a crash,
which is a bug: then there may be two leaders in one term."""

import base64
import json
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

me, nodes, server, self_address = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
durable = "durable" in sys.argv[5:]
everybody = [str(n + 1) for n in range(nodes)]
lock = threading.Lock()
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
running, term, voted, grants, sent = False, 0, 0, set(), 0


def post(path, **body):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request("http://" + server + path, json.dumps(body).encode(), headers)
    opener.open(request).read()


def event(kind, **params):
    post("/event", type=kind, replica=me, params=params)


def send(to, kind, about):
    global sent
    sent += 1
    post("/message", **{"from": me, "to": to, "type": kind, "data": base64.b64encode(str(about).encode()).decode(),
                        "id": f"{me}_{to}_{sent}", "intercept": True, "repr": f"{kind} {about}"})


def message(m):
    global term, voted
    about = int(base64.b64decode(m["data"]))
    if m["type"] == "vote" and about > voted:
        voted, term = about, max(term, about)
        send(m["from"], "grant", about)
    elif m["type"] == "grant" and about == term:
        grants.add(m["from"])
        if 2 * len(grants) > nodes:
            event("Leader", term=str(term))


def timeout(_):
    global term, grants
    event("TimeoutEnd", type="election", duration="100ms")
    term, grants = term + 1, set()
    for to in everybody:
        send(to, "vote", term)
    event("TimeoutStart", type="election", duration="100ms")


def directive(d):
    global running, term, voted, grants
    running = d["action"] != "STOP"
    if d["action"] == "RESTART" or not durable:  # RESTART begins a run, START follows a crash
        term, voted = 0, 0
    grants = set()
    if running:
        post("/replica", id=me, ready=True, addr=self_address, info={})
        event("TimeoutStart", type="election", duration="100ms")


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with lock:
            if self.path == "/directive":
                directive(body)
            elif running:
                {"/message": message, "/timeout": timeout}[self.path](body)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"Ok")

    def log_message(self, *_):
        pass


host, port = self_address.rsplit(":", 1)
listening = ThreadingHTTPServer((host, int(port)), Handler)
post("/replica", id=me, ready=False, addr=self_address, info={})
listening.serve_forever()
