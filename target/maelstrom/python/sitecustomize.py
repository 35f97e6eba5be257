"""Gives a program for Maelstrom the tester's clock and random numbers.

Python imports this module before the program, because the tester puts its directory in PYTHONPATH. Time does not pass
while the program runs. The tester writes the time, in nanoseconds, to one descriptor. This module lets one sleeper
whose deadline has come continue, and answers on another descriptor whether more of them are due.
"""

import math
import os
import sys


def install():
    clock, answers, seed, now = (int(n) for n in os.environ.pop("LOCKSTEP_CLOCK").split(","))
    for descriptor in (clock, answers):
        os.set_inheritable(descriptor, False)
    draws(seed)
    Clock(clock, answers, now).install()


def draws(seed):
    """Makes random numbers those of the run."""
    import random

    source = random.Random(seed)
    os.urandom = source.randbytes
    seeded = random.Random.seed

    def again(self, a=None, version=2):
        seeded(self, source.getrandbits(64) if a is None else a, version)

    random.Random.seed = again
    random.seed = random._inst.seed
    random.seed()
    random._urandom = os.urandom


class Timer:
    """What happens at a deadline, unless it is canceled before."""

    def __init__(self, fire):
        self.fire = fire
        self.fired = self.canceled = False


class Waiter:
    """A lock of a condition, which its timer releases, too."""

    def __init__(self, allocate):
        self.lock = allocate()
        self.lock.acquire()
        self.mutex = allocate()
        self.open = False

    def release(self):
        with self.mutex:
            if not self.open:
                self.open = True
                self.lock.release()


class Clock:
    def __init__(self, clock, answers, now):
        import _thread
        import heapq
        self.heapq, self.allocate = heapq, _thread.allocate_lock
        self.clock, self.answers = clock, answers
        self.mutex, self.now, self.timers, self.made = self.allocate(), now, [], 0
        self.thread = _thread

    def after(self, seconds, fire):
        """Calls a function when so much time has passed."""
        timer = Timer(fire)
        with self.mutex:
            self.made += 1
            # A sleeper that rounds its time down would try again in the same nanosecond, without end.
            entry = (self.now + math.ceil(max(0, seconds) * 1e9), self.made, timer)
            self.heapq.heappush(self.timers, entry)
        return timer

    def advance(self, until):
        """Moves the time to the next deadline, or to the end of the wait. It returns whether it is at the end."""
        with self.mutex:
            while self.timers and self.timers[0][2].canceled:
                self.heapq.heappop(self.timers)
            if not self.timers or self.timers[0][0] > until:
                self.now = until
                return True
            deadline, _, timer = self.heapq.heappop(self.timers)
            self.now = max(self.now, deadline)
            timer.fired = True
        timer.fire()
        return False

    def follow(self):
        """Follows the tester's clock until the tester is gone."""
        text = b""
        while more := os.read(self.clock, 64):
            text += more
            while b"\n" in text:
                line, text = text.split(b"\n", 1)
                os.write(self.answers, b"." if self.advance(int(line)) else b"+")

    def sleep(self, seconds):
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        waiter = Waiter(self.allocate)
        self.after(seconds, waiter.release)
        waiter.lock.acquire()

    def install(self):
        self.patch_time()
        self.patch_datetime()
        self.patch_threading()
        self.patch_select()
        self.thread.start_new_thread(self.follow, ())
        os.write(self.answers, b"!")

    def patch_time(self):
        import time

        start = 1_700_000_000 * 10**9  # of the wall clock
        wall, since = (lambda: start + self.now), (lambda: self.now)
        time.time_ns, time.time = wall, lambda: wall() / 1e9
        time.monotonic_ns = time.perf_counter_ns = since
        time.monotonic = time.perf_counter = lambda: since() / 1e9
        time.sleep = self.sleep
        for name in ("localtime", "gmtime", "ctime"):
            of = getattr(time, name)
            setattr(time, name, lambda secs=None, of=of: of(time.time() if secs is None else secs))
        strftime = time.strftime
        time.strftime = lambda form, t=None: strftime(form, time.localtime() if t is None else t)

    def patch_datetime(self):
        import datetime
        import time

        class Virtual(datetime.datetime):
            @classmethod
            def now(cls, tz=None):
                return cls.fromtimestamp(time.time(), tz)

            @classmethod
            def utcnow(cls):
                return cls.fromtimestamp(time.time(), datetime.timezone.utc).replace(tzinfo=None)

            @classmethod
            def today(cls):
                return cls.now()

        Virtual.__name__ = Virtual.__qualname__ = "datetime"
        datetime.datetime = Virtual

    def patch_threading(self):
        import threading

        clock, untimed = self, threading.Condition.wait

        def wait(self, timeout=None):
            if timeout is None:
                return untimed(self)
            if not self._is_owned():
                raise RuntimeError("cannot wait on un-acquired lock")
            if timeout <= 0:
                return False
            waiter = Waiter(clock.allocate)
            self._waiters.append(waiter)
            saved = self._release_save()
            timer = clock.after(timeout, waiter.release)
            try:
                waiter.lock.acquire()
            finally:
                self._acquire_restore(saved)
                timer.canceled = True
            if timer.fired:
                try:
                    self._waiters.remove(waiter)
                except ValueError:
                    return True  # it was notified, too
            return not timer.fired

        threading.Condition.wait = wait

    def patch_select(self):
        import select

        clock, ready = self, select.select

        def virtual(r, w, x, timeout=None):
            if timeout is None or timeout <= 0:
                return ready(r, w, x, timeout)
            with Wakeup(clock, timeout) as wakeup:
                got = ready([*r, wakeup.end], w, x)
            return [f for f in got[0] if f is not wakeup.end], got[1], got[2]

        select.select = virtual
        for name, scale in (("epoll", 1), ("poll", 1000)):
            if hasattr(select, name):
                setattr(select, name, polled(clock, getattr(select, name), scale, select))


class Wakeup:
    """A descriptor that can be read when a time has passed."""

    def __init__(self, clock, seconds):
        self.end, self.other = os.pipe()
        self.timer = clock.after(seconds, lambda: os.write(self.other, b"x"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.timer.canceled = True
        os.close(self.end)
        os.close(self.other)


def polled(clock, kind, scale, select):
    """A kind of poll object whose timeouts are those of the clock. A second has so many of its units."""

    class Polled:
        def __init__(self, *args, **named):
            self.real = kind(*args, **named)

        def __getattr__(self, name):
            return getattr(self.real, name)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.real.close()

        def poll(self, timeout=None, maxevents=-1):
            more = (maxevents,) if scale == 1 else ()
            if timeout is None or timeout <= 0:
                return self.real.poll(timeout, *more)
            with Wakeup(clock, timeout / scale) as wakeup:
                self.real.register(wakeup.end, select.POLLIN)
                try:
                    got = self.real.poll(None)
                finally:
                    self.real.unregister(wakeup.end)
            return [e for e in got if e[0] != wakeup.end]

    return Polled


if "LOCKSTEP_CLOCK" in os.environ:
    install()
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]
