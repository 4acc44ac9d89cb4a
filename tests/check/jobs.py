"""Runs jobs side by side: what waits for what, how many at a time, the longest first.

A job stands in a lane.  `build` is what all others wait for.  `boxes` are tests at full priority, more at a time than there are processors,
because more than half of their time is waiting.  `reserve` is what only computes (another build, analysis): one after
the other at the lowest priority, with what the others leave.  `alone` is what measures: one after the other,
when no boxes are tested.
"""
import collections
import os
import threading
import time

from commands import processor_time_s
from results import Case

WIDTH = {"build": 1, "boxes": 2 * (os.cpu_count() or 1) + 1, "reserve": 1, "alone": 1}

# `work` gives the cases.  `needs` are jobs without which it can't run: if one of them fails, it does not.  `seconds`
# is how long it took before; what takes long is begun early.
Job = collections.namedtuple("Job", "name suite lane work needs seconds", defaults=[(), 0.0])
Done = collections.namedtuple("Done", "job cases seconds processor_s", defaults=[0.0])


class Runner:
    def __init__(self, jobs, tell):
        self.waiting = sorted(jobs, key=lambda job: -job.seconds)
        self.known = {job.name for job in jobs}
        self.running = collections.Counter()  # jobs, by lane
        self.open = set(self.known)      # neither ended nor given up
        self.failed = set()              # ended badly, or never begun
        self.not_run, self.done = [], []
        self.changed = threading.Condition()
        self.tell = tell

    def run(self):
        threads = [threading.Thread(target=self.serve, args=(lane,)) for lane, width in WIDTH.items() for _ in range(width)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.done

    def serve(self, lane):
        while job := self.next_of(lane):
            began, used = time.monotonic(), processor_time_s()
            try:
                cases = job.work()
            except Exception as problem:  # a suite that can't even start has failed
                cases = [Case(f"{job.name} starts", "failed", repr(problem))]
            cases = cases or [Case(f"{job.name} has a test", "failed", "it is there, but nothing ran")]
            done = Done(job, cases, time.monotonic() - began, processor_time_s() - used)
            with self.changed:
                self.running[lane] -= 1
                self.end(job, any(case.verdict == "failed" for case in cases))
                self.done.append(done)
                self.tell(done, len(self.known) - len(self.open), len(self.known))

    def next_of(self, lane):
        """The next job of a lane, as soon as it may begin; None when there is none any more."""
        with self.changed:
            while True:
                self.drop_what_can_not_run()
                mine = [job for job in self.waiting if job.lane == lane]
                if not mine:
                    return None
                for job in mine:
                    if self.may_begin(job):
                        self.waiting.remove(job)
                        self.running[lane] += 1
                        return job
                self.changed.wait()

    def is_ready(self, job):
        return not self.open & set(job.needs)

    def may_begin(self, job):
        """What measures and boxes keep out of each other's way; boxes go first, as far as they can begin."""
        if job.lane == "alone" and any(other.lane == "boxes" and self.is_ready(other) for other in self.waiting):
            return False
        return self.is_ready(job) and not self.running[{"alone": "boxes", "boxes": "alone"}.get(job.lane)]

    def drop_what_can_not_run(self):
        while job := next((job for job in self.waiting if self.failed & set(job.needs)), None):
            self.waiting.remove(job)
            self.not_run.append(job)
            self.end(job, True)

    def end(self, job, is_bad):
        self.open.discard(job.name)
        if is_bad:
            self.failed.add(job.name)
        self.changed.notify_all()
