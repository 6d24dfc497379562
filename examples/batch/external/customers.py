#!/usr/bin/env python3
"""Artifacts for examples/batch/jobs/external-python.xml: `customers.py reader|processor|writer|batchlet|listener|decider`."""

import os
import sys

from quayline_artifact import Batchlet, Decider, Listener, Processor, Reader, Thrown, Writer, run


class Lines(Reader):
    """Lines of the property `file`. The position is a byte offset, so a restart seeks."""

    def open(self, position):
        self.file = open(self.context.properties["file"], "rb")
        self.file.seek(int(position or b"0"))

    def read(self):
        line = self.file.readline()
        return (line.rstrip(b"\n"), b"%d" % self.file.tell()) if line else None

    def close(self, complete):
        self.file.close()


class Names(Processor):
    """`0001ADA LOVELACE   LONDON` becomes `1;Ada Lovelace`. A customer without a number throws; one without a name is left out."""

    def process(self, item):
        number, name = item[:4], item[4:19].strip()
        if not number.isdigit():
            raise Thrown("a customer has no number", "BadCustomer", "quayline.Rejected")
        return b"%d;%s" % (int(number), name.title()) if name else None


class Append(Writer):
    """Lines in the property `file`. The position is the length of the file, to which open() cuts it back."""

    # The file is cut back by hand in write() if it throws, so the engine may look for single items that fail.
    abilities = ("isolates",)

    def open(self, position):
        self.length = int(position or b"0")
        self.file = open(self.context.properties["file"], "r+b" if self.length else "wb")
        self.file.truncate(self.length)

    def write(self, items):
        try:
            self.file.seek(self.length)
            self.file.write(b"".join(item + b"\n" for item in items))
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError:
            self.file.truncate(self.length)
            raise
        self.length = self.file.tell()
        return b"%d" % self.length

    def close(self, complete):
        self.file.close()


class Wait(Batchlet):
    """Waits `seconds`, or until somebody stops the job."""

    def process(self):
        stopped = self.context.stopped.wait(float(self.context.properties.get("seconds", "0")))
        return "STOPPED" if stopped else "WAITED"


class Count(Listener):
    """Appends a line to the property `file` for each chunk, and makes their number the exit status."""

    abilities = ("afterRead", "onSkipProcess", "afterChunk", "afterStep")

    def hear(self, event, item, text, exception):
        self.heard = getattr(self, "heard", {})
        self.heard[event] = self.heard.get(event, 0) + 1
        if event == "afterStep":
            with open(self.context.properties["file"], "a", encoding="utf-8") as file:
                file.write(" ".join(f"{name}={count}" for name, count in sorted(self.heard.items())) + f" {text}\n")
            return f"{self.heard.get('onSkipProcess', 0)} skipped"
        return None


class Last(Decider):
    """Decides by the exit status of the last step."""

    def decide(self, steps):
        return (steps[-1][1] or "NONE").split()[0]


KINDS = {"reader": Lines, "processor": Names, "writer": Append, "batchlet": Wait, "listener": Count, "decider": Last}

if __name__ == "__main__":
    run(KINDS[sys.argv[1]]())
