"""A node for Maelstrom's broadcast workload that sends what is not acknowledged again, after random times. Its
arguments say by which calls of Python it waits, how long at least, in seconds, and how often it sends; without that,
endlessly."""

import asyncio
import json
import os
import random
import select
import sys
import threading
import time

how, least = sys.argv[1], float(sys.argv[2])
attempts = int(sys.argv[3]) if len(sys.argv) > 3 else 0
me, neighbors, seen, missing = None, [], [], []
lock = threading.Lock()


def send(to, **body):
    print(json.dumps({"src": me, "dest": to, "body": body}), flush=True)


def receive(line):
    global me, neighbors
    message = json.loads(line)
    sender, body = message["src"], message["body"]
    kind = body["type"]
    if kind == "init":
        me = body["node_id"]
    elif kind == "topology":
        neighbors = body["topology"][me]
    elif kind == "seen":
        missing[:] = [entry for entry in missing if entry[:2] != [sender, body["message"]]]
        return
    elif kind in ("broadcast", "news"):
        if body["message"] not in seen:
            seen.append(body["message"])
            for neighbor in neighbors:
                missing.append([neighbor, body["message"], 0])
                send(neighbor, type="news", message=body["message"])
        if kind == "news":
            send(sender, type="seen", message=body["message"])
    if "msg_id" in body:
        more = {"messages": seen} if kind == "read" else {}
        send(sender, type=kind + "_ok", in_reply_to=body["msg_id"], **more)


def again():
    for entry in list(missing):
        to, message = entry[:2]
        send(to, type="news", message=message, at=time.time())
        entry[2] += 1
        if attempts and entry[2] >= attempts:
            missing.remove(entry)


def pause():
    return random.uniform(least, 3 * least)


def endlessly(wait):
    while True:
        wait(pause())
        with lock:
            again()


def lines():
    for line in sys.stdin:
        with lock:
            receive(line)


def selecting(wait):
    text, deadline = b"", time.monotonic() + pause()
    while True:
        if wait(deadline - time.monotonic()):
            more = os.read(0, 65536)
            if not more:
                return
            *whole, text = (text + more).split(b"\n")
            for line in whole:
                receive(line)
        if time.monotonic() >= deadline:
            again()
            deadline = time.monotonic() + pause()


async def looping():
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def retry():
        while True:
            await asyncio.sleep(pause())
            again()

    task = asyncio.create_task(retry())
    while line := await reader.readline():
        receive(line)
    task.cancel()


if how == "asyncio":
    asyncio.run(looping())
elif how == "select":
    selecting(lambda timeout: select.select([0], [], [], max(timeout, 0))[0])
elif how == "poll":
    poll = select.poll()
    poll.register(0, select.POLLIN)
    selecting(lambda timeout: poll.poll(max(timeout, 0) * 1000))
else:
    wait = {"sleep": time.sleep, "event": threading.Event().wait}[how]
    threading.Thread(target=endlessly, args=(wait,), daemon=True).start()
    lines()
