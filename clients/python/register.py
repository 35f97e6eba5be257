"""A register that three replicas keep: the replica that is asked writes to all and answers when one
other has it. A majority would be right; that it reads from itself alone is the bug."""

import lockstep


class Register(lockstep.Replica):
    def on_reset(self, seed):
        self.stamp, self.value, self.waiting = 0, "-", {}

    def on_request(self, number, text):
        verb, _, value = text.partition(" ")
        if verb == "read":
            self.event("read", self.value)
            return
        self.keep(self.stamp + 1, value)
        self.waiting[self.stamp] = value
        for to in range(1, self.nodes + 1):
            if to != self.node:
                self.send(to, "write", f"{self.stamp} {value}".encode(), text=f"{self.stamp} {value}")

    def on_deliver(self, sender, kind, body):
        stamp, _, value = body.decode().partition(" ")
        if kind == "write":
            self.keep(int(stamp), value)
            self.send(sender, "written", stamp.encode(), text=stamp)
        elif (written := self.waiting.pop(int(stamp), None)) is not None:
            self.event("wrote", written)

    def keep(self, stamp, value):
        if stamp > self.stamp:
            self.stamp, self.value = stamp, value
            self.state(f"{stamp}: {value}")


if __name__ == "__main__":
    Register().run()
