//! The types of nodes: their terminals and properties. `docs/reference/flows.md` has the same tables; a test compares them.

/// A type of node.
#[derive(Debug)]
pub struct NodeKind {
    /// Name in a flow file.
    pub name: &'static str,
    /// True for a node type through which messages enter the flow.
    pub is_input: bool,
    /// Terminals that messages leave by.
    pub terminals: &'static [Terminal],
    /// Properties.
    pub properties: &'static [PropertyKind],
    /// Purpose, in one sentence.
    pub help: &'static str,
}

/// A terminal.
#[derive(Debug)]
pub struct Terminal {
    /// Name in a flow file.
    pub name: &'static str,
    /// True if a flow is incomplete unless the terminal is wired.
    pub is_required: bool,
    /// Description of the messages that leave by the terminal.
    pub help: &'static str,
}

/// A property.
#[derive(Debug)]
pub struct PropertyKind {
    /// Key in a flow file.
    pub name: &'static str,
    /// Form of the value.
    pub form: Form,
    /// True if a node is incomplete without the property.
    pub is_required: bool,
    /// Description, with the default.
    pub help: &'static str,
}

/// Form of a property's value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// A text, or `{ from = "EXPRESSION" }`: a text made from each message.
    Text,
    /// A text that is the same for all messages: a folder, an address.
    Constant,
    /// An expression that is true or false.
    Condition,
    /// An expression that gives a text.
    Expression,
    /// A list of expressions that give texts.
    Expressions,
    /// Cases: `{ when = "CONDITION", to = "NODE" }`.
    Cases,
    /// Names of nodes.
    Labels,
    /// A shape, as maps name it.
    Shape,
    /// A map file.
    Map,
    /// A whole number between two bounds.
    Number(u64, u64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A time such as `"200ms"`, `"5s"`, `"2m"`, `"1h"`.
    Time,
}

const fn terminal(name: &'static str, help: &'static str) -> Terminal {
    Terminal { name, is_required: false, help }
}

const fn wired(name: &'static str, help: &'static str) -> Terminal {
    Terminal { name, is_required: true, help }
}

const fn optional(name: &'static str, form: Form, help: &'static str) -> PropertyKind {
    PropertyKind { name, form, is_required: false, help }
}

const fn required(name: &'static str, form: Form, help: &'static str) -> PropertyKind {
    PropertyKind { name, form, is_required: true, help }
}

const OUT: Terminal = terminal("out", "the message");
const FAILURE: Terminal = terminal("failure", "the message, if the node fails");
const CATCH: Terminal =
    terminal("catch", "the message as it was received, if the flow fails and nothing before handles it");
const NOT_FOUND: Terminal = terminal("not_found", "the message, if there is no such record (status 23)");
const DUPLICATE: Terminal = terminal("duplicate", "the message, if a record with this unique key exists (status 22)");
const STATUS: Terminal = terminal("status", "a status message, after each record operation");

const MESSAGE: PropertyKind =
    optional("message", Form::Shape, "shape of the messages; without it their content is not read");
const TRANSACTION: PropertyKind = optional(
    "transaction",
    Form::Choice(&["yes", "no", "automatic"]),
    "whether the get commits with everything the flow does; `automatic`: for persistent messages. Default yes",
);
const DATABASE: PropertyKind = required(
    "database",
    Form::Constant,
    "connection string of PostgreSQL without a password, such as `host=127.0.0.1 user=quay dbname=orders`",
);
const PASSWORD_VARIABLE: PropertyKind =
    optional("password_variable", Form::Constant, "environment variable that holds the password. Default PGPASSWORD");
const PARAMETERS: PropertyKind = optional(
    "parameters",
    Form::Expressions,
    "an expression for each of `$1`, `$2` and so on; one without a value is null",
);
const OUTBOX: PropertyKind =
    required("outbox", Form::Constant, "queue that keeps what is not delivered yet; only this node may use it");
const FILE: PropertyKind = required("file", Form::Text, "record file");
const KEY: PropertyKind = optional("key", Form::Text, "key; a shorter key is generic");
const KEY_TYPE: PropertyKind = optional(
    "key_type",
    Form::Choice(&["text", "hex", "number"]),
    "form of the key: text in the code page of `layout` (or ASCII), hexadecimal digits, or the address or number of a record. Default text",
);
const MODE: PropertyKind = optional(
    "mode",
    Form::Choice(&["KEY_EQ", "KEY_GE", "FIRST", "LAST"]),
    "which record: the one with the key, the one with the key or the next greater one, the first, or the last. Default KEY_EQ",
);
const INDEX: PropertyKind = optional("index", Form::Text, "alternate index that the key belongs to");
const LAYOUT: PropertyKind = optional("layout", Form::Shape, "shape of the records: a copybook or layout");
const KEEP_OPEN: PropertyKind = optional(
    "keep_open",
    Form::Choice(&["always", "until_idle", "per_message"]),
    "how long the file stays open. Default until_idle: 10 seconds without use",
);

const SERVER: PropertyKind = required(
    "server",
    Form::Constant,
    "address of the server, such as `nats://127.0.0.1:4222`; `tls://` if the server must have TLS",
);
const NATS_USER: PropertyKind = optional("user", Form::Constant, "user of the server. Default none");
const NATS_PASSWORD: PropertyKind = optional(
    "password_variable",
    Form::Constant,
    "environment variable that holds the password, or a token if there is no user. Default NATS_PASSWORD",
);
const NATS_CREDENTIALS: PropertyKind = optional(
    "credentials",
    Form::Constant,
    "file with the seed of an NKey, or with JWT and seed as `nsc` writes it, relative to the project. Default none",
);
const BROKER: PropertyKind = required(
    "server",
    Form::Constant,
    "address of the broker, such as `amqp://127.0.0.1:5672`, or `amqps://HOST:5671` with TLS",
);
const BROKER_USER: PropertyKind = optional(
    "user",
    Form::Constant,
    "user of the broker (SASL PLAIN). Default none: the certificate (SASL EXTERNAL) if there is one, otherwise SASL ANONYMOUS",
);
const BROKER_PASSWORD: PropertyKind = optional(
    "password_variable",
    Form::Constant,
    "environment variable that holds the password. Default AMQP_PASSWORD",
);
const KAFKA: PropertyKind = required(
    "server",
    Form::Constant,
    "addresses of brokers, such as `kafka://127.0.0.1:9092`, or `kafkas://HOST:9093,HOST:9093` with TLS; one that is up is enough",
);
const KAFKA_USER: PropertyKind = optional("user", Form::Constant, "user of the brokers (SASL PLAIN). Default none");
const KAFKA_PASSWORD: PropertyKind = optional(
    "password_variable",
    Form::Constant,
    "environment variable that holds the password. Default KAFKA_PASSWORD",
);
const AUTHORITIES: PropertyKind = optional(
    "authorities",
    Form::Constant,
    "PEM file of the authorities that sign the server's certificate, relative to the project. Default those of the system",
);
const CERTIFICATE: PropertyKind =
    optional("certificate", Form::Constant, "PEM file of the certificate of this side, relative to the project");
const PRIVATE_KEY: PropertyKind =
    optional("private_key", Form::Constant, "PEM file of the private key of `certificate`, relative to the project");
const ATTEMPTS: PropertyKind =
    optional("attempts", Form::Number(1, 1_000), "failures after which a message moves to `backout`. Default 3");
const BACKOUT: PropertyKind =
    optional("backout", Form::Constant, "queue for messages that fail too often. Default DEAD.LETTER");
const METHOD: PropertyKind =
    optional("method", Form::Choice(&["GET", "POST", "PUT", "PATCH", "DELETE"]), "method of the request. Default POST");
const CONTENT_TYPE: PropertyKind =
    optional("content_type", Form::Constant, "content type of the request. Default `application/octet-stream`");
const WAIT_LIMIT: PropertyKind = optional("wait_limit", Form::Time, "longest wait for the answer. Default 30s");
const REJECTED: Terminal = terminal("rejected", "the message, if a document is rejected; its entry has the reasons");
const INTERCHANGE: Terminal = terminal("interchange", "each interchange sent at once, with `send-to = \"output\"`");
const REPORT: Terminal = terminal("report", "the counts of the node as JSON");
const SUCCESS: PropertyKind = optional(
    "success",
    Form::Constant,
    "statuses of the answer that are success, such as `200-299,409`. Default 200-299",
);

/// Every type of node.
pub const NODE_KINDS: &[NodeKind] = &[
    NodeKind {
        name: "queue_input",
        is_input: true,
        terminals: &[wired("out", "each message"), CATCH],
        properties: &[
            required("queue", Form::Constant, "queue to get messages from"),
            MESSAGE,
            TRANSACTION,
            optional(
                "order",
                Form::Choice(&["none", "by_queue", "by_user", "by_key"]),
                "`by_queue`: one message after another; `by_user`: messages with the same `envelope.user_id` one after another; `by_key`: those with the same `order_key`. Default none",
            ),
            optional("order_key", Form::Expression, "key of the order, with `order = \"by_key\"`"),
            optional(
                "commit_count",
                Form::Number(1, 10_000),
                "messages in one unit of work, if that many wait; 1 in an order. Default 1",
            ),
            optional(
                "commit_interval",
                Form::Time,
                "longest time that a unit of work waits for more messages. Default 0ms",
            ),
        ],
        help: "Gets messages from a queue.",
    },
    NodeKind {
        name: "folder_input",
        is_input: true,
        terminals: &[wired("out", "one message for each file; `envelope.file_name` is its name"), CATCH],
        properties: &[
            required("folder", Form::Constant, "folder to look into, relative to the project"),
            optional("pattern", Form::Constant, "names of the files, with `*` and `?`. Default `*`"),
            optional("done", Form::Constant, "folder for processed files. Default `done` in the folder"),
            optional("interval", Form::Time, "pause between two looks. Default 1s"),
            optional("settle", Form::Time, "time that a file must be unchanged before it is read. Default 5s"),
            MESSAGE,
        ],
        help: "Makes a message of each file that appears in a folder.",
    },
    NodeKind {
        name: "timer_input",
        is_input: true,
        terminals: &[wired("out", "one message each time"), CATCH],
        properties: &[
            required("every", Form::Time, "pause between two messages"),
            optional("payload", Form::Constant, "content of the message. Default empty"),
            MESSAGE,
        ],
        help: "Makes a message at regular times.",
    },
    NodeKind {
        name: "http_input",
        is_input: true,
        terminals: &[wired("out", "one message for each request"), CATCH],
        properties: &[
            required("listen", Form::Constant, "address to listen on, such as `127.0.0.1:8090`"),
            required("path", Form::Constant, "path of the requests, such as `/orders`"),
            MESSAGE,
            optional(
                "wait_limit",
                Form::Time,
                "longest time until the answer, after which the client gets 504. Default 30s",
            ),
            optional(
                "remember",
                Form::Time,
                "time for which a repeated request with the same `Idempotency-Key` gets the first answer. Default 24h",
            ),
            optional(
                "content_bytes_max",
                Form::Number(1, 100 << 20),
                "longest content of a request in bytes, beyond which the client gets 413. Default 104857600 (100 MiB)",
            ),
            optional(
                "connections",
                Form::Number(1, 100_000),
                "connections at once; further clients wait to be accepted. Default 1024",
            ),
            optional(
                "user_header",
                Form::Constant,
                "header in which a proxy on this machine names the user that it authenticated, for `envelope.user_id`. Default none",
            ),
            optional(
                "open_to_network",
                Form::Flag,
                "whether `listen` may be an address that other machines reach, without TLS and authentication. Default false",
            ),
        ],
        help: "Makes a message of each HTTP POST request; a `reply` node answers it after the commit. Without one, the answer is 204.",
    },
    NodeKind {
        name: "nats_input",
        is_input: true,
        terminals: &[wired("out", "each message; `envelope.property_nats_subject` is its subject"), CATCH],
        properties: &[
            SERVER,
            NATS_USER,
            NATS_PASSWORD,
            NATS_CREDENTIALS,
            AUTHORITIES,
            CERTIFICATE,
            PRIVATE_KEY,
            required("stream", Form::Constant, "name of the stream"),
            optional("subject", Form::Constant, "subjects to receive, with `*` and `>`. Default all of the stream"),
            optional(
                "consumer",
                Form::Constant,
                "name of the consumer on the server, which only this node may use. Default a name of its own",
            ),
            optional(
                "order",
                Form::Choice(&["none", "by_stream"]),
                "`by_stream`: one message after another, also after a failure. Default none",
            ),
            ATTEMPTS,
            BACKOUT,
            MESSAGE,
        ],
        help: "Receives the messages of a stream of NATS JetStream, each with its effect once.",
    },
    NodeKind {
        name: "amqp_input",
        is_input: true,
        terminals: &[wired("out", "each message; its application properties are properties"), CATCH],
        properties: &[
            BROKER,
            BROKER_USER,
            BROKER_PASSWORD,
            AUTHORITIES,
            CERTIFICATE,
            PRIVATE_KEY,
            required("queue", Form::Constant, "queue of the broker; only this node should receive from it"),
            optional(
                "order",
                Form::Choice(&["none", "by_queue"]),
                "`by_queue`: one message after another, also after a failure. Default none",
            ),
            optional(
                "remember",
                Form::Time,
                "time for which a message that comes again has no second effect. Default 24h",
            ),
            optional(
                "without_id",
                Form::Choice(&["accept", "backout"]),
                "messages without a message-id, which may have their effect twice: process them, or move them to `backout`. Default accept",
            ),
            ATTEMPTS,
            BACKOUT,
            MESSAGE,
        ],
        help: "Receives the messages of a queue of another AMQP 1.0 broker, each with its effect once.",
    },
    NodeKind {
        name: "kafka_input",
        is_input: true,
        terminals: &[wired("out", "each message; its headers are properties"), CATCH],
        properties: &[
            KAFKA,
            KAFKA_USER,
            KAFKA_PASSWORD,
            AUTHORITIES,
            CERTIFICATE,
            PRIVATE_KEY,
            required("topic", Form::Constant, "topic to receive from"),
            optional(
                "partitions",
                Form::Constant,
                "partitions to receive from, such as `0-3,7`, so that several flows can share a topic. Default all",
            ),
            optional(
                "start",
                Form::Choice(&["earliest", "latest"]),
                "where to begin with a partition that the store does not know. Default earliest",
            ),
            optional(
                "reader",
                Form::Constant,
                "name that the offsets are stored under; another name begins again. Default the name of the node",
            ),
            optional(
                "order",
                Form::Choice(&["none", "by_partition"]),
                "`by_partition`: messages of a partition one after another, also after a failure. Default none",
            ),
            ATTEMPTS,
            BACKOUT,
            MESSAGE,
        ],
        help: "Receives the messages of a topic of Kafka, each with its effect once.",
    },
    NodeKind {
        name: "sql_input",
        is_input: true,
        terminals: &[wired("out", "each row as a JSON object; `envelope.property_sql_key` is its key"), CATCH],
        properties: &[
            DATABASE,
            PASSWORD_VARIABLE,
            required("statement", Form::Constant, "query without parameters whose rows become messages"),
            required(
                "key",
                Form::Constant,
                "column of the query that is unique and never null; rows come in its order",
            ),
            optional(
                "done",
                Form::Constant,
                "statement for each row after its message is processed, with the key as `$1`, such as `DELETE FROM orders WHERE id = $1`. Default none: Quayline remembers the last key",
            ),
            optional("interval", Form::Time, "pause between two looks for rows. Default 1s"),
            optional(
                "order",
                Form::Choice(&["none", "by_key"]),
                "`by_key`: one row after another, also after a failure. Default none",
            ),
            optional(
                "reader",
                Form::Constant,
                "name that the last key is stored under; another name begins again. Default the name of the node",
            ),
            ATTEMPTS,
            BACKOUT,
            MESSAGE,
        ],
        help: "Makes a message of each row of a PostgreSQL query, each with its effect once.",
    },
    NodeKind {
        name: "record_input",
        is_input: false,
        terminals: &[
            wired("record", "one message for each record"),
            terminal("status", "one status message at the end"),
            FAILURE,
        ],
        properties: &[
            FILE,
            LAYOUT,
            KEY,
            KEY_TYPE,
            MODE,
            optional("commit_count", Form::Number(1, 100_000), "records in one unit of work. Default 1,000"),
        ],
        help: "Reads a whole record file, or the rest from a key on; every message that reaches it starts one pass.",
    },
    NodeKind {
        name: "record_read",
        is_input: false,
        terminals: &[wired("out", "the record"), NOT_FOUND, STATUS, FAILURE],
        properties: &[
            FILE,
            LAYOUT,
            KEY,
            KEY_TYPE,
            MODE,
            INDEX,
            optional(
                "lock",
                Form::Flag,
                "whether to lock the record until the unit of work ends, for a `record_update`. Default false",
            ),
            KEEP_OPEN,
        ],
        help: "Reads one record.",
    },
    NodeKind {
        name: "record_write",
        is_input: false,
        terminals: &[OUT, DUPLICATE, STATUS, FAILURE],
        properties: &[FILE, KEEP_OPEN],
        help: "Adds the content of the message as a record. Of a message of fixed records, it adds each one, or none if one cannot be added.",
    },
    NodeKind {
        name: "record_update",
        is_input: false,
        terminals: &[OUT, NOT_FOUND, DUPLICATE, STATUS, FAILURE],
        properties: &[FILE, KEEP_OPEN],
        help: "Replaces a record of a key-sequenced file. The content of the message is the whole record with its key.",
    },
    NodeKind {
        name: "record_delete",
        is_input: false,
        terminals: &[OUT, NOT_FOUND, STATUS, FAILURE],
        properties: &[FILE, KEY, KEY_TYPE, MODE, INDEX, KEEP_OPEN],
        help: "Deletes one record.",
    },
    NodeKind {
        name: "map",
        is_input: false,
        terminals: &[wired("out", "what the map made: one message for each output that has a document"), FAILURE],
        properties: &[
            required("map", Form::Map, "map file (`.qmap`), relative to the project"),
            optional(
                "lookups",
                Form::Constant,
                "tables for `lookup` of the map: `NAME=FILE.csv`, several with a bar between them, relative to the project. Default none",
            ),
            optional(
                "control_numbers",
                Form::Constant,
                "name of the numbers of interchanges and groups that the map writes, from 1, without gap or repetition. Nodes may share it. Default `FLOW.NODE`",
            ),
        ],
        help: "Runs a map. Quayline counts the warnings of the map, and `quayline flow stats` shows the last one. If the target is a guide, Quayline checks the interchange by it, as `translate` does. If the guide refuses the interchange, the node fails and sends nothing. If the map makes no document, for example because it runs `drop`, the message ends here, and Quayline counts it as dropped.",
    },
    NodeKind {
        name: "filter",
        is_input: false,
        terminals: &[
            wired("out", "the message, if the condition is true"),
            terminal("no_match", "the message, if it is false; not wired, Quayline drops and counts it"),
            FAILURE,
        ],
        properties: &[required("when", Form::Condition, "condition")],
        help: "Passes messages on for which a condition is true. `quayline check` notes a filter without `no_match` (FLO-078); `no_match = []` drops the other messages without this note. The statistics and metrics of the node count dropped messages.",
    },
    NodeKind {
        name: "route",
        is_input: false,
        terminals: &[terminal("no_match", "the message, if no case fits; not wired, the node fails"), FAILURE],
        properties: &[
            optional("cases", Form::Cases, "cases in order; the first whose condition is true takes the message"),
            optional("label", Form::Text, "name of the node that takes the message"),
            optional("labels", Form::Labels, "nodes that `label` may name"),
        ],
        help: "Sends each message to one of several nodes.",
    },
    NodeKind {
        name: "split",
        is_input: false,
        terminals: &[
            wired("out", "one message for each part; `envelope.part` is its number"),
            terminal("done", "the message itself, after its parts"),
            FAILURE,
        ],
        properties: &[
            required(
                "by",
                Form::Choice(&["line", "document"]),
                "`line`: each line, without its LF or CR LF; `document`: each document of JSON or record of fixed length. Map XML and EDI to JSON first, which makes a document of each EDI transaction",
            ),
            optional("part", Form::Shape, "shape of a part. For documents, the default is the shape of the message"),
        ],
        help: "Makes several messages of one. Quayline leaves out empty lines. A message without a line or document, such as `[]`, has no parts. The warnings of the node count both (FLO-079).",
    },
    NodeKind {
        name: "aggregate",
        is_input: false,
        terminals: &[
            wired("out", "one message of all messages of a complete group"),
            terminal("incomplete", "one message of the messages so far, when the time of a group is over"),
            FAILURE,
        ],
        properties: &[
            optional("key", Form::Text, "group that the message belongs to. Default one group"),
            optional("count", Form::Text, "number of messages that complete a group"),
            optional("last", Form::Condition, "condition that is true for the message that completes its group"),
            optional(
                "timeout",
                Form::Time,
                "longest time from the first message of a group until it leaves. Default unlimited",
            ),
            ATTEMPTS,
            BACKOUT,
            optional(
                "join",
                Form::Choice(&["lines", "bytes", "json"]),
                "form of the new message: `lines` (each content is one line), `bytes` (one after another) or `json` (an array). Default lines",
            ),
            optional("whole", Form::Shape, "shape of the new message"),
        ],
        help: "Makes one message of several that belong together. With `incomplete = []`, the statistics and metrics of the node count the groups that it drops.",
    },
    NodeKind {
        name: "try",
        is_input: false,
        terminals: &[
            wired("try", "the message"),
            terminal("catch", "the message as it was here, if a node after `try` fails"),
        ],
        properties: &[],
        help: "Handles failures of the nodes after it.",
    },
    NodeKind {
        name: "throw",
        is_input: false,
        terminals: &[],
        properties: &[required("text", Form::Text, "text of the failure")],
        help: "Fails.",
    },
    NodeKind {
        name: "trace",
        is_input: false,
        terminals: &[OUT],
        properties: &[required("text", Form::Text, "line for the trace")],
        help: "Writes a line to the trace.",
    },
    NodeKind {
        name: "validate",
        is_input: false,
        terminals: &[
            wired("out", "the message, if it fits its shape"),
            terminal(
                "no_match",
                "the message, if it does not fit; not wired, and without `acknowledge`, the node fails",
            ),
            terminal(
                "acknowledgment",
                "the acknowledgment, with `acknowledge`, before the message leaves by `out` or `no_match`",
            ),
            FAILURE,
        ],
        properties: &[
            optional("message", Form::Shape, "shape to check against, if it differs from the message's"),
            optional(
                "acknowledge",
                Form::Choice(&["997", "999", "ta1", "contrl"]),
                "acknowledgment of the interchanges of the message, as `quayline validate --ack` writes it. Default none",
            ),
            optional(
                "control_numbers",
                Form::Constant,
                "name of the numbers of acknowledgments, from 1, without gap or repetition. Nodes may share it. Default `FLOW.NODE`",
            ),
        ],
        help: "Checks the whole message against its shape, and acknowledges interchanges. A message without a document does not fit. In JSON and XML, it checks names, mandatory members, lengths, numbers and occurrences of lists.",
    },
    NodeKind {
        name: "partner_receive",
        is_input: false,
        terminals: &[
            terminal("out", "the message, if all of its documents are delivered"),
            REJECTED,
            terminal("output", "each document that its rule delivers to `output`"),
            terminal("acknowledgment", "each acknowledgment, with `acknowledge-to = \"output\"`"),
            INTERCHANGE,
            REPORT,
            FAILURE,
        ],
        properties: &[],
        help: "Receives the interchanges of the message from partners: checks, acknowledges, maps and delivers them by partner files and rules.",
    },
    NodeKind {
        name: "partner_send",
        is_input: false,
        terminals: &[
            terminal("out", "the message, if all of its documents are sent or wait for their envelope"),
            REJECTED,
            terminal("output", "each output that is not EDI and that its rule delivers to `output`"),
            INTERCHANGE,
            REPORT,
            FAILURE,
        ],
        properties: &[
            optional("document", Form::Text, "kind of document for rules to send. Default none: the message is EDI"),
            optional("to", Form::Text, "name of the partner. Default the receiver that the map sets"),
            optional("from", Form::Constant, "name of your own file. Default the first"),
        ],
        help: "Sends the documents of the message to partners by their rules, in an envelope at once or later.",
    },
    NodeKind {
        name: "reply",
        is_input: false,
        terminals: &[OUT, FAILURE],
        properties: &[
            optional("status", Form::Number(100, 599), "HTTP status of the answer. Default 200"),
            optional(
                "content_type",
                Form::Constant,
                "HTTP content type of the answer. Default `application/octet-stream`",
            ),
        ],
        help: "Answers the request: puts the message on the reply queue of the received message, or answers the HTTP request. An HTTP request gets one answer: a second `reply` fails (FLO-081). A `reply` that a failure leads to, such as after `catch`, takes the place of an answer from before the failure.",
    },
    NodeKind {
        name: "queue_output",
        is_input: false,
        terminals: &[OUT, FAILURE],
        properties: &[
            required("queue", Form::Text, "queue or topic to put the message on"),
            optional(
                "persistence",
                Form::Choice(&["as_input", "yes", "no"]),
                "whether the message survives a restart. Default as_input",
            ),
            optional(
                "correlation",
                Form::Choice(&["message_id", "correlation_id", "none"]),
                "correlation id: the received message's id, its correlation id, or none. Default message_id",
            ),
            optional("priority", Form::Number(0, 9), "priority. Default that of the received message"),
            optional("expiry", Form::Time, "time after which the message expires. Default never"),
        ],
        help: "Puts the message on a queue or topic.",
    },
    NodeKind {
        name: "cobol_program",
        is_input: false,
        terminals: &[
            wired("out", "the record as the program left it; `envelope.return_code` is its RETURN-CODE"),
            terminal(
                "failure",
                "the message, if it is not a record of `request`, or the program ends without GOBACK, exceeds `time_limit` or returns a RETURN-CODE above `return_code_max`",
            ),
        ],
        properties: &[
            required("program", Form::Constant, "PROGRAM-ID"),
            required(
                "request",
                Form::Shape,
                "shape of the record that the program gets as its parameter: a layout or copybook",
            ),
            optional("response", Form::Shape, "shape of the record that it leaves there. Default that of `request`"),
            optional(
                "modules",
                Form::Constant,
                "folders with `PROGRAM.so`, relative to the project, with a colon between them. Default `modules`",
            ),
            optional(
                "source",
                Form::Constant,
                "COBOL source, relative to the project. When the flow is loaded, Quayline compiles it to the first folder of `modules`, if the module does not match the source. Default none",
            ),
            optional(
                "compiler_options",
                Form::Constant,
                "options of `cobc` for `source`, separated by spaces; those that the dialect of `request` needs follow. Default `-O2 -std=ibm`",
            ),
            optional(
                "work_folder",
                Form::Constant,
                "folder that the program runs in, relative to the project. Default that of the project",
            ),
            optional(
                "workers",
                Form::Number(1, 64),
                "processes on each thread of the flow, with one call at a time each. Default 1",
            ),
            optional(
                "time_limit",
                Form::Time,
                "longest time of a call, after which Quayline stops the process. Default 5s",
            ),
            optional("memory_mib", Form::Number(16, 1 << 20), "memory of the program in MiB. Default 512"),
            optional(
                "working_storage",
                Form::Choice(&["fresh", "keep"]),
                "WORKING-STORAGE at the start of a call: `fresh`: its VALUE clauses; `keep`: what the last call of the same process left. Default fresh",
            ),
            optional("return_code_max", Form::Number(0, 0x7fff_ffff), "highest RETURN-CODE that is success. Default 0"),
        ],
        help: "Calls a COBOL program with the message as its parameter and continues with what the program leaves there.",
    },
    NodeKind {
        name: "sql_query",
        is_input: false,
        terminals: &[
            wired("out", "the row as a JSON object; with `rows = \"each\"`, one message for each row"),
            terminal("no_row", "the message, if the query gives no row"),
            FAILURE,
        ],
        properties: &[
            DATABASE,
            PASSWORD_VARIABLE,
            required("statement", Form::Constant, "query, with `$1`, `$2` and so on for parameters"),
            PARAMETERS,
            optional("rows", Form::Choice(&["first", "each"]), "rows that become messages. Default first"),
            optional("row", Form::Shape, "shape of a row"),
        ],
        help: "Reads rows from a PostgreSQL database.",
    },
    NodeKind {
        name: "sql_output",
        is_input: false,
        terminals: &[OUT, FAILURE],
        properties: &[
            DATABASE,
            PASSWORD_VARIABLE,
            required("statement", Form::Constant, "statement, with `$1`, `$2` and so on for parameters"),
            PARAMETERS,
            optional("wait_limit", Form::Time, "longest time of the statement. Default 60s"),
            OUTBOX,
        ],
        help: "Executes a statement in a PostgreSQL database, once, after the commit.",
    },
    NodeKind {
        name: "http_request",
        is_input: false,
        terminals: &[
            wired("out", "the answer"),
            terminal("failure", "the message, if the server does not answer, or with a status other than `success`"),
        ],
        properties: &[
            required("url", Form::Text, "URL, such as `http://127.0.0.1:8080/prices`"),
            METHOD,
            CONTENT_TYPE,
            WAIT_LIMIT,
            SUCCESS,
            optional("answer", Form::Shape, "shape of the answer"),
        ],
        help: "Sends the message by HTTP and continues with the answer.",
    },
    NodeKind {
        name: "http_output",
        is_input: false,
        terminals: &[OUT, FAILURE],
        properties: &[
            required("url", Form::Text, "URL, such as `http://127.0.0.1:8080/orders`"),
            METHOD,
            CONTENT_TYPE,
            WAIT_LIMIT,
            SUCCESS,
            OUTBOX,
        ],
        help: "Sends the message by HTTP after the commit, until the server accepts it.",
    },
    NodeKind {
        name: "nats_output",
        is_input: false,
        terminals: &[OUT, FAILURE],
        properties: &[
            SERVER,
            NATS_USER,
            NATS_PASSWORD,
            NATS_CREDENTIALS,
            AUTHORITIES,
            CERTIFICATE,
            PRIVATE_KEY,
            required("subject", Form::Text, "subject to publish to; a stream must take it"),
            OUTBOX,
        ],
        help: "Publishes the message to a stream of NATS JetStream after the commit, until the stream has it.",
    },
    NodeKind {
        name: "amqp_output",
        is_input: false,
        terminals: &[OUT, FAILURE],
        properties: &[
            BROKER,
            BROKER_USER,
            BROKER_PASSWORD,
            AUTHORITIES,
            CERTIFICATE,
            PRIVATE_KEY,
            required("queue", Form::Text, "queue or topic of the broker"),
            optional(
                "duplicate_property",
                Form::Constant,
                "application property for the id by which the broker finds duplicates, such as `_AMQ_DUPL_ID` for ActiveMQ Artemis. Default none",
            ),
            OUTBOX,
        ],
        help: "Sends the message to a queue of another AMQP 1.0 broker after the commit, until the broker accepts it.",
    },
    NodeKind {
        name: "kafka_output",
        is_input: false,
        terminals: &[OUT, FAILURE],
        properties: &[
            KAFKA,
            KAFKA_USER,
            KAFKA_PASSWORD,
            AUTHORITIES,
            CERTIFICATE,
            PRIVATE_KEY,
            required("topic", Form::Text, "topic to append to; it must exist"),
            optional("key", Form::Text, "key, which determines the partition. Default none: any partition"),
            OUTBOX,
        ],
        help: "Appends the message to a topic of Kafka after the commit, once.",
    },
    NodeKind {
        name: "file_output",
        is_input: false,
        terminals: &[OUT, FAILURE],
        properties: &[
            required("folder", Form::Constant, "folder, relative to the project"),
            required("name", Form::Text, "name of the file; an existing file is replaced"),
        ],
        help: "Writes the message to a file of its own, once, after the commit. If several messages have the same file name, the file has the last one. The warnings of the node count a file that has a new content (FLO-080).",
    },
];

/// Returns the node type with this name.
#[must_use]
pub fn node_kind(name: &str) -> Option<&'static NodeKind> {
    NODE_KINDS.iter().find(|kind| kind.name == name)
}
