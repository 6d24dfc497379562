"""Artifacts of Quayline jobs in Python: subclass Reader, Processor, Writer, Batchlet, Listener, Decider, Algorithm, Mapper, Collector, Analyzer
or Reducer, and call run().

The protocol is in docs/reference/artifact-protocol.md. Standard output belongs to it; print() goes to standard error.
"""

import os
import sys
import threading


class Thrown(Exception):
    """An exception with the classes by which a job skips or retries it: the class first, then its superclasses."""

    def __init__(self, message, *classes):
        super().__init__(message)
        self.classes = classes


class Context:
    """What `hello` says: the job, and the properties of this use of the artifact."""

    def __init__(self, fields):
        text = [None if field is None else field.decode() for field in fields]
        self.version, self.kind, self.job, self.instance, self.execution, self.step, self.partition = text[:7]
        self.properties = dict(zip(text[7::2], text[8::2]))
        self.stopped = threading.Event()


class Artifact:
    """What all kinds have in common. `context` is there before the first call."""

    abilities = ()
    context = None

    def close(self, complete):
        """The step ends, or continues at a checkpoint: then open() comes next."""


class Reader(Artifact):
    def open(self, position):
        """Begins at the start (None) or after a position that read() gave."""

    def read(self):
        """The next item and the position after it, as bytes; None at the end."""
        raise NotImplementedError


class Processor(Artifact):
    def process(self, item):
        """The item to write, or None to leave it out."""
        raise NotImplementedError


class Writer(Artifact):
    def open(self, position):
        """Begins at the start (None) or after a position that write() gave: what was written after it is undone."""

    def write(self, items):
        """Writes the items of a chunk so that they survive a crash. Returns the position after them."""
        raise NotImplementedError


class Batchlet(Artifact):
    def process(self):
        """Does the work of the step; returns its exit status or None. Ends soon after context.stopped is set."""
        raise NotImplementedError


class Listener(Artifact):
    """`abilities` names the events that hear() gets, such as "afterChunk" or "onSkipProcess"."""

    def hear(self, event, item, text, exception):
        """Something happened. A text that it returns becomes the exit status."""


class Decider(Artifact):
    def decide(self, steps):
        """The exit status by which the job continues. `steps` has pairs of a step and its exit status."""
        raise NotImplementedError


class Algorithm(Artifact):
    """A checkpoint algorithm. With the ability "end", end() is called after each commit."""

    def begin(self):
        """A chunk begins. The number of items after which ready() is called first; None is 1."""

    def ready(self, items):
        """The chunk has so many items: 0 ends it, another number asks again after so many more."""
        raise NotImplementedError

    def end(self):
        """The chunk has committed."""


class Plan:
    """Partitions: a dictionary of properties for each. `replaces` throws an earlier plan away at a restart."""

    def __init__(self, properties, threads=None, replaces=False):
        self.properties, self.threads, self.replaces = properties, threads, replaces


class Mapper(Artifact):
    """With the ability "repeats", a restart fails if the plan differs from the one before."""

    def plan(self):
        """A Plan."""
        raise NotImplementedError


class Collector(Artifact):
    def collect(self, metrics):
        """Bytes for the analyzer, or None: after each commit of the partition, and at its end. `metrics` are those of the partition."""
        raise NotImplementedError


class Analyzer(Artifact):
    """A text that a method returns becomes the exit status of the step."""

    def analyze(self, data):
        """Bytes of a collector, or None."""

    def status(self, status, exit_status):
        """A partition ended."""


class Reducer(Artifact):
    """A text that a method returns becomes the exit status of the step."""

    def begin(self):
        """The step begins."""

    def before_completion(self):
        """All partitions completed."""

    def rollback(self):
        """A partition did not complete."""

    def after_completion(self, outcome):
        """The step ended: "commit" or "rollback"."""


def run(artifact):
    """Serves an artifact until Quayline closes the input."""
    source = sys.stdin.buffer
    output = os.fdopen(os.dup(1), "wb")
    # What a library prints must not become a part of the answers.
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    while True:
        frame = _receive(source)
        if frame is None:
            return
        verb, fields = frame
        try:
            answer = "ok", _answer(artifact, verb, fields, source)
        except _Partly as partly:
            answer = "partly", [str(len(partly.done)).encode(), *partly.done, *_thrown(partly.cause)]
        except Exception as exception:  # Whatever it is, the job decides what becomes of it.
            answer = "throw", _thrown(exception)
        _send(output, *answer)


class _Partly(Exception):
    def __init__(self, done, cause):
        super().__init__()
        self.done = done
        self.cause = cause


def _thrown(exception):
    if isinstance(exception, Thrown):
        classes = exception.classes
    else:
        tree = type(exception).__mro__
        classes = ["python." + of.__name__ for of in tree if of is not object]
    return [str(exception).encode(), *(name.encode() for name in classes)]


def _answer(artifact, verb, fields, source):
    if verb == "hello":
        artifact.context = Context(fields)
        return [ability.encode() for ability in artifact.abilities]
    if verb == "open":
        artifact.failed = None
        artifact.open(fields[0])
        return []
    if verb == "close":
        artifact.close(not fields or fields[0] == b"complete")
        return []
    if verb == "read":
        return _read(artifact, int(fields[0]))
    if verb == "write":
        return [artifact.write(fields)]
    if verb == "hear":
        status = None
        for event in zip(fields[0::4], fields[1::4], fields[2::4], fields[3::4]):
            name, item, text, exception = event
            heard = artifact.hear(
                name.decode(), item, text and text.decode(), exception and exception.decode()
            )
            status = heard if heard is not None else status
        return [] if status is None else [status.encode()]
    if verb == "decide":
        text = [None if field is None else field.decode() for field in fields]
        return [artifact.decide(list(zip(text[0::2], text[1::2]))).encode()]
    if verb == "plan":
        return _plan(artifact.plan())
    if verb == "collect":
        text = [field.decode() for field in fields]
        return [artifact.collect({name: int(count) for name, count in zip(text[0::2], text[1::2])})]
    if verb in ("analyze", "status", "begin", "ready", "end", "before-completion", "rollback", "after-completion"):
        if verb == "analyze":
            found = artifact.analyze(fields[0])
        elif verb == "ready":
            found = artifact.ready(int(fields[0]))
        else:
            found = getattr(artifact, verb.replace("-", "_"))(*(field and field.decode() for field in fields))
        return [] if found is None else [str(found).encode()]
    if verb == "process" and artifact.context.kind == "processor":
        done = []
        for item in fields:
            try:
                done.append(artifact.process(item))
            except Exception as exception:
                raise _Partly(done, exception) from exception
        return done
    if verb == "process":
        # `stop` is the only request that comes before an answer.
        threading.Thread(target=_watch, args=(source, artifact.context), daemon=True).start()
        status = artifact.process()
        return [None if status is None else status.encode()]
    raise Thrown(f"the verb {verb} is not known", "quayline.ProgramAnswer")


def _plan(plan):
    answer = [None if plan.threads is None else b"%d" % plan.threads, b"replace" if plan.replaces else b"keep"]
    for properties in plan.properties:
        answer.append(b"%d" % len(properties))
        for name, value in properties.items():
            answer += [name.encode(), str(value).encode()]
    return answer


def _read(artifact, count):
    # The items before an exception are delivered first, and the exception with the next request.
    if artifact.failed is not None:
        failed, artifact.failed = artifact.failed, None
        raise failed
    answer = [b"more"]
    for _ in range(count):
        try:
            found = artifact.read()
        except Exception as exception:
            if len(answer) == 1:
                raise
            artifact.failed = exception
            break
        if found is None:
            answer[0] = b"end"
            break
        answer.extend(found)
    return answer


def _watch(source, context):
    frame = _receive(source)
    if frame is None or frame[0] == "stop":
        context.stopped.set()


def _receive(source):
    line = source.readline()
    if not line:
        return None
    verb, count = line.split()
    fields = []
    for _ in range(int(count)):
        length = source.readline().strip()
        if length == b"-":
            fields.append(None)
        else:
            fields.append(source.read(int(length)))
            source.read(1)
    return verb.decode(), fields


def _send(output, verb, fields):
    parts = [b"%s %d\n" % (verb.encode(), len(fields))]
    for field in fields:
        if field is None:
            parts.append(b"-\n")
        else:
            parts += [b"%d\n" % len(field), field, b"\n"]
    output.write(b"".join(parts))
    output.flush()
