"""A node for Maelstrom's broadcast workload. It sends each new value to its neighbors, but only
once: a lost message is never sent again."""

import json
import sys

me, neighbors, seen = None, [], []


def send(to, **body):
    print(json.dumps({"src": me, "dest": to, "body": body}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    sender, body = message["src"], message["body"]
    kind = body["type"]
    if kind == "init":
        me = body["node_id"]
    elif kind == "topology":
        neighbors = body["topology"][me]
    elif kind in ("broadcast", "news") and body["message"] not in seen:
        seen.append(body["message"])
        for neighbor in neighbors:
            if neighbor != sender:
                send(neighbor, type="news", message=body["message"])
    if "msg_id" in body:
        more = {"messages": seen} if kind == "read" else {}
        send(sender, type=kind + "_ok", in_reply_to=body["msg_id"], **more)
