"""A replica in the hands of Lockstep, on Python's standard library alone.

    replica = lockstep.Replica()
    replica.on_deliver = lambda sender, kind, body: replica.send(sender, "pong", body)
    replica.run()

Each on_* function returns when what it was asked to do is done. The protocol is described
in docs/reference/remote.md; this client speaks its JSON form.
"""
import base64
import http.client
import json
import os
import struct
import urllib.parse

SERVICE = "/lockstep.remote.v1.Lockstep/"


class Replica:
    """One replica: the functions that deliver commands to it, and the calls it answers with."""

    def __init__(self, url=None, node=None, token=None, info=None):
        self.url = urllib.parse.urlsplit(url or os.environ["LOCKSTEP_URL"])
        self.node = int(node or os.environ["LOCKSTEP_NODE"])
        self.token = token or os.environ.get("LOCKSTEP_TOKEN", "")
        self.info = info or {}  # what the other replicas may know of this one
        self.nodes = 0  # how many replicas there are
        self.texts = False  # whether messages and states are wanted as text
        self.now = 0  # the time of the run
        self.replicas = {}  # what the others reported of themselves
        self._session, self._effects, self._words = 0, [], {}

    # The commands that the replica gets; to be set or overridden.
    def on_reset(self, seed):
        """A run begins: forget everything. on_start follows."""

    def on_start(self):
        """Start, at the beginning of a run and after a crash."""

    def on_stop(self):
        """A crash: forget everything that would not survive one."""

    def on_deliver(self, sender, kind, body):
        """A message arrives."""

    def on_fire(self, timer):
        """A timer fires."""

    def on_request(self, number, text):
        """A client asks for something."""

    # What the replica answers.
    def send(self, to, kind, body=b"", text="", phase=0, round=0):
        """Send a message to a replica, which may be this one."""
        self._effects.append({"kind": "SEND", "to": to, "type": kind, "text": text, "phase": phase,
                              "round": round, "body": base64.b64encode(body).decode()})

    def broadcast(self, kind, body=b"", text="", phase=0, round=0):
        """Send a message to every replica, this one included."""
        for to in range(1, self.nodes + 1):
            self.send(to, kind, body, text, phase, round)

    def timer(self, name, after):
        """Start a timer; one of the same name is replaced."""
        self._effects.append({"kind": "TIMER", "type": name, "after": str(after)})

    def cancel(self, name):
        """Stop a timer."""
        self._effects.append({"kind": "CANCEL", "type": name})

    def event(self, kind, text=""):
        """Report something observable."""
        self._effects.append({"kind": "EVENT", "type": kind, "text": text})

    def state(self, text):
        """Put the state into a few words."""
        self._words["state"] = text

    def role(self, text):
        """Name the part that the replica plays."""
        self._words["role"] = text

    # The protocol.
    def run(self):
        """Take orders until the engine hangs up."""
        orders = self._call("Orders")
        hello = _frame({"node": self.node, "info": self.info})
        orders.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(hello), hello))
        answer = orders.getresponse()
        if answer.status != 200:
            raise ConnectionError(f"{answer.status}: {answer.read().decode(errors='replace').strip()}")
        reports = self._call("Reports")
        while order := _read(answer):
            self._obey(order)
            report = {"session": self._session, "run": order.get("run", 0), "done": order["number"],
                      "effects": self._effects, **self._words}
            frame = _frame(report)
            reports.send(b"%x\r\n%s\r\n" % (len(frame), frame))
            self._effects, self._words = [], {}

    def _call(self, procedure):
        call = http.client.HTTPConnection(self.url.hostname, self.url.port)
        call.putrequest("POST", SERVICE + procedure)
        call.putheader("Content-Type", "application/connect+json")
        call.putheader("Transfer-Encoding", "chunked")
        if self.token:
            call.putheader("Authorization", "Bearer " + self.token)
        call.endheaders()
        return call

    def _obey(self, o):
        kind = o.get("kind", "ASK")
        self.now = int(o.get("now", 0))
        if kind == "WELCOME":
            self._session, self.nodes = o["session"], o["nodes"]
        elif kind == "RESET":
            self.texts = o.get("texts", False)
            self.replicas = {r["node"]: r.get("info", {}) for r in o.get("replicas", [])}
            self.on_reset(int(o.get("seed", 0)))
            self.on_start()
        elif kind == "START":
            self.on_start()
        elif kind == "STOP":
            self.on_stop()
        elif kind == "DELIVER":
            self.on_deliver(o["from"], o["type"], base64.b64decode(o.get("body", "")))
        elif kind == "FIRE":
            self.on_fire(o.get("type", ""))
        elif kind == "REQUEST":
            self.on_request(o["request"], o.get("text", ""))


def _frame(message):
    text = json.dumps(message).encode()
    return struct.pack(">BI", 0, len(text)) + text


def _read(stream):
    """The next message, or None when the stream has ended, with an exception if that was an error."""
    head = stream.read(5)
    if len(head) < 5:
        return None
    flags, size = struct.unpack(">BI", head)
    message = json.loads(stream.read(size))
    if flags & 2:  # the end of the stream
        if error := message.get("error"):
            raise ConnectionError(error.get("message", error["code"]))
        return None
    return message
