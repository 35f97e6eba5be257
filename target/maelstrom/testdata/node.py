"""A node for all of Maelstrom's workloads that are served here. The first node keeps everything and
the others ask it, which is right; with the argument "alone" every node answers from what it has
itself, which is wrong."""

import json
import sys

me, first = None, None
state, logs, committed = {}, {}, {}  # of keys; of a log's records; of a log's offsets
members, ids = [], 0


def send(to, **body):
    print(json.dumps({"src": me, "dest": to, "body": body}), flush=True)


def cas(key, old, new):
    if key not in state:
        return {"type": "error", "code": 20, "text": "no such key"}
    if state[key] != old:
        return {"type": "error", "code": 22, "text": "it is another"}
    state[key] = new
    return {}


def transaction(operations):
    for o in operations:
        if o[0] == "append":
            state.setdefault(o[1], []).append(o[2])
        else:
            o[2] = list(state.get(o[1], []))
    return {"txn": operations}


def execute(body):
    """The answer, without its type where that is the usual one."""
    global ids
    kind = body["type"]
    if kind == "generate":
        ids += 1
        return {"id": ids}
    if kind in ("broadcast", "add"):
        members.append(body.get("message", body.get("element")))
    elif kind == "read" and "key" not in body:
        return {"messages": members, "value": members}
    elif kind == "read":
        if body["key"] in state:
            return {"value": state[body["key"]]}
        return {"type": "error", "code": 20, "text": "no such key"}
    elif kind == "write":
        state[body["key"]] = body["value"]
    elif kind == "cas":
        return cas(body["key"], body["from"], body["to"])
    elif kind == "send":
        logs.setdefault(body["key"], []).append(body["msg"])
        return {"offset": len(logs[body["key"]]) - 1}
    elif kind == "poll":
        return {"msgs": {k: list(enumerate(logs.get(k, [])))[at:] for k, at in body["offsets"].items()}}
    elif kind == "commit_offsets":
        committed.update(body["offsets"])
    elif kind == "list_committed_offsets":
        return {"offsets": {k: committed[k] for k in body["keys"] if k in committed}}
    elif kind == "txn":
        return transaction(body["txn"])
    return {}


def answer(client, asked, said):
    send(client, **{"type": asked["type"] + "_ok", **said, "in_reply_to": asked["msg_id"]})


for line in sys.stdin:
    message = json.loads(line)
    body = message["body"]
    if body["type"] == "init":
        me, first = body["node_id"], body["node_ids"][0]
        answer(message["src"], body, {})
    elif body["type"] == "ask":
        send(message["src"], type="said", client=body["client"], asked=body["asked"], said=execute(body["asked"]))
    elif body["type"] == "said":
        answer(body["client"], body["asked"], body["said"])
    elif body["type"] == "topology" or me == first or "alone" in sys.argv:
        answer(message["src"], body, execute(body))
    else:
        send(first, type="ask", client=message["src"], asked=body)
