#!/usr/bin/env python3
"""Artifacts for examples/batch/jobs/external-partitions.xml: `partitions.py mapper|reader|algorithm|collector|analyzer|reducer`."""

import os
import sys

from quayline_artifact import Algorithm, Analyzer, Collector, Mapper, Plan, Reader, Reducer, run


class Ranges(Mapper):
    """Splits the lines of the property `file` into `partitions` ranges of bytes."""

    # A restart must make the same ranges: Quayline refuses to continue with others.
    abilities = ("repeats",)

    def plan(self):
        path, count = self.context.properties["file"], int(self.context.properties.get("partitions", "2"))
        length = os.path.getsize(path)
        begins = [0]
        with open(path, "rb") as file:
            for number in range(1, count):
                # From the byte before, so that a line that begins here is found.
                file.seek(max(length * number // count - 1, 0))
                file.readline()
                begins.append(file.tell())
        ends = [*begins[1:], length]
        return Plan([{"from": str(begin), "to": str(end)} for begin, end in zip(begins, ends)], threads=2)


class Lines(Reader):
    """Lines of the property `file` from byte `from` to byte `to`. The position is a byte offset."""

    def open(self, position):
        properties = self.context.properties
        self.to = int(properties["to"])
        self.file = open(properties["file"], "rb")
        self.file.seek(int(position or properties["from"]))

    def read(self):
        if self.file.tell() >= self.to:
            return None
        line = self.file.readline()
        return line.rstrip(b"\n"), b"%d" % self.file.tell()

    def close(self, complete):
        self.file.close()


class Growing(Algorithm):
    """The first chunk has 2 items, and each has twice as many as the one before, up to the property `most`."""

    size = 1

    def begin(self):
        self.size = min(self.size * 2, int(self.context.properties.get("most", "1000")))
        return self.size

    def ready(self, items):
        return 0


class Written(Collector):
    """The partition and what it has written so far."""

    def collect(self, metrics):
        return f"{self.context.partition}={metrics['WRITE_COUNT']}".encode()


class Sum(Analyzer):
    """The exit status of the step is the number of items that all partitions have written."""

    def analyze(self, data):
        self.written = getattr(self, "written", {})
        partition, count = data.decode().split("=")
        self.written[partition] = int(count)
        return str(sum(self.written.values()))


class Done(Reducer):
    """Leaves the property `file` if all partitions completed, and removes it otherwise."""

    def after_completion(self, outcome):
        path = self.context.properties["file"]
        if outcome == "commit":
            with open(path, "w", encoding="utf-8") as file:
                file.write("all partitions completed\n")
        elif os.path.exists(path):
            os.remove(path)


KINDS = {
    "mapper": Ranges,
    "reader": Lines,
    "algorithm": Growing,
    "collector": Written,
    "analyzer": Sum,
    "reducer": Done,
}

if __name__ == "__main__":
    run(KINDS[sys.argv[1]]())
