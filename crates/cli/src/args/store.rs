//! Arguments of `quayline file`, `quayline queue` and `quayline store`.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};

use super::{CopybookArgs, SourceArgs};

/// The data folder.
#[derive(Debug, clap::Args)]
pub(crate) struct FolderArg {
    /// Data folder of the store, or address of its database
    ///
    /// The first `define` creates a folder. One process at a time can use it. A store in PostgreSQL serves several processes at once; its address has the
    /// form postgresql://USER@HOST:PORT/DATABASE.
    #[arg(long = "store", value_name = "DIR", default_value = "data")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) durability: DurabilityOption,
}

/// A store, or the server that has it open.
#[derive(Debug, clap::Args)]
pub(crate) struct StoreOrServerArg {
    #[command(flatten)]
    pub(crate) store: FolderArg,
    /// Send the request to the server that has the store open: `listen` in [serve.admin] of its quayline.toml
    ///
    /// If the listener has roles, set QUAYLINE_ADMIN_KEY to the key of an operator.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["folder", "durability"])]
    pub(crate) admin: Option<std::net::SocketAddr>,
}

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct DurabilityOption {
    /// When a unit of work counts as done: sync or buffered [default: sync]
    ///
    /// With `sync`, a power failure loses nothing that is done. With `buffered`, Quayline writes each unit of work and does not wait for the disk, which
    /// is many times faster. A power failure or a crash of the operating system can then lose the units of the last seconds; those that remain are whole
    /// and in order. The end of the process loses nothing, and a command that ends has synced its work. A store in PostgreSQL has its own setting,
    /// `synchronous_commit`.
    #[arg(id = "durability", long = "durability", value_name = "WHEN", value_enum, hide_possible_values = true)]
    pub(crate) when: Option<DurabilityArg>,
}

/// Durabilities.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum DurabilityArg {
    /// After the sync
    Sync,
    /// After the write
    Buffered,
}

/// What keeps a store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StoreKind {
    /// A data folder.
    Embedded,
    /// A PostgreSQL database.
    Postgres,
}

impl StoreKind {
    /// Every kind.
    pub(crate) const ALL: [StoreKind; 2] = [StoreKind::Embedded, StoreKind::Postgres];

    /// Its name in `--version`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            StoreKind::Embedded => "embedded",
            StoreKind::Postgres => "postgresql",
        }
    }

    /// Beginnings of its addresses; a folder has none.
    fn schemes(self) -> &'static [&'static str] {
        match self {
            StoreKind::Embedded => &[],
            StoreKind::Postgres => &["postgresql://", "postgres://"],
        }
    }
}

impl FolderArg {
    /// A folder or address.
    pub(crate) fn new(folder: PathBuf, durability: DurabilityOption) -> FolderArg {
        FolderArg { folder, durability }
    }

    /// The address, where the store is a database.
    pub(crate) fn address(&self) -> Option<&str> {
        let text = self.folder.to_str()?;
        let mut schemes = StoreKind::ALL.iter().flat_map(|kind| kind.schemes());
        schemes.any(|scheme| text.starts_with(scheme)).then_some(text)
    }

    /// The folder for what is beside the store, such as logs of jobs.
    pub(crate) fn local(&self) -> &Path {
        if self.address().is_some() { Path::new("data") } else { &self.folder }
    }
}

/// Arguments of `quayline file`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct FileArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: FileCommand,
}

/// What to do with record files.
#[derive(Debug, Subcommand)]
pub(crate) enum FileCommand {
    /// Define an empty record file
    #[command(after_long_help = DEFINE_FILE_EXAMPLES)]
    Define(DefineFileArgs),
    /// Load records from a file
    Load(LoadArgs),
    /// Write all records to a file
    Unload(UnloadArgs),
    /// Print one record
    Get(GetArgs),
    /// Insert a record, or replace one
    Put(PutArgs),
    /// Print records from a key on
    Browse(BrowseArgs),
    /// Delete a record, or with --all the file
    Delete(DeleteArgs),
    /// Run a script of operations and print the file status of each
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(ScriptArgs),
    /// Print the definition of a file and figures of its records
    Facts(FactsArgs),
    /// Compare records, keys and alternate indexes
    Verify(VerifyArgs),
    /// Rename a file, or change its record lengths or alternate indexes
    #[command(after_long_help = ALTER_EXAMPLES)]
    Alter(AlterArgs),
    /// Copy a file under another name
    Copy(CopyArgs),
    /// Rewrite all records of a file, which closes its gaps
    Reorganise(VerifyArgs),
    /// Read a file once, so that the operating system has it in memory
    Preload(VerifyArgs),
}

/// Organisations.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum OrganisationArg {
    /// Key-sequenced
    Ksds,
    /// Entry-sequenced
    Esds,
    /// Relative
    Rrds,
}

/// Arguments of `quayline file define`.
#[derive(Debug, clap::Args)]
pub(crate) struct DefineFileArgs {
    /// Name of the file: letters, digits and . _ - $ # @, at most 44
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    /// Organisation: ksds, esds or rrds
    #[arg(long, value_enum, default_value = "ksds", value_name = "KIND")]
    pub(crate) organisation: OrganisationArg,
    /// Copybook of the records: keys can be fields, and the length of the records follows from it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) copybook: Option<PathBuf>,
    /// Record description to use, if the copybook has several
    #[arg(long, value_name = "NAME", requires = "copybook")]
    pub(crate) record_name: Option<String>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Length of the records in bytes, as N or MIN-MAX, at most 104,857,600 (100 MiB)
    #[arg(long, value_name = "LENGTH", required_unless_present = "copybook")]
    pub(crate) record: Option<String>,
    /// Primary key of a ksds, as OFFSET:LENGTH or, with --copybook, a field
    #[arg(long, value_name = "PLACE")]
    pub(crate) key: Option<String>,
    /// Alternate index, as NAME=PLACE or NAME=PLACE:duplicates, where PLACE is as for --key
    #[arg(long = "index", value_name = "INDEX")]
    pub(crate) indexes: Vec<String>,
}

/// Arguments of `quayline file load`.
#[derive(Debug, clap::Args)]
pub(crate) struct LoadArgs {
    /// Name of the file
    pub(crate) name: String,
    /// File to read, or `-` for standard input
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) store: FolderArg,
    /// Framing of the input: fixed, rdw, vb, vbs, lines, length, ...
    #[arg(short, long, value_name = "FRAMING", default_value = "fixed")]
    pub(crate) framing: String,
    /// Bypass the log; requires an empty file and an input that is sorted by key
    #[arg(long)]
    pub(crate) sorted: bool,
    /// Leave out the first records of the input, to continue a load that stopped
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) skip: u64,
}

/// Arguments of `quayline file unload`.
#[derive(Debug, clap::Args)]
pub(crate) struct UnloadArgs {
    /// Name of the file
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Framing of the output: fixed, rdw, vb, vbs, lines, length, ...
    #[arg(short, long, value_name = "FRAMING", default_value = "fixed")]
    pub(crate) framing: String,
    /// Leave damaged records out and report their number, instead of stopping at the first; not at a server
    #[arg(long)]
    pub(crate) salvage: bool,
}

/// Which record.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    /// Key as text, in the code page of --encoding, or UTF-8 without that option; a shorter key is generic
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["key_hex", "address", "number"])]
    pub(crate) key: Option<String>,
    /// Key as hexadecimal digits
    #[arg(long, value_name = "HEX", conflicts_with_all = ["address", "number"])]
    pub(crate) key_hex: Option<String>,
    /// Relative byte address in an esds
    #[arg(long, value_name = "RBA", conflicts_with = "number")]
    pub(crate) address: Option<u64>,
    /// Relative record number in an rrds
    #[arg(long, value_name = "NUMBER")]
    pub(crate) number: Option<u64>,
    /// Alternate index that the key belongs to
    #[arg(long, value_name = "INDEX")]
    pub(crate) index: Option<String>,
}

/// Arguments of `quayline file get`.
#[derive(Debug, clap::Args)]
pub(crate) struct GetArgs {
    /// Name of the file
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Accept the next greater key
    #[arg(long)]
    pub(crate) at_least: bool,
    #[command(flatten)]
    pub(crate) described: DescribedArgs,
}

/// Definition of the records, to print them as JSON.
#[derive(Debug, clap::Args)]
pub(crate) struct DescribedArgs {
    /// Copybook of the records, to print each as a line of JSON, as `quayline convert` does
    #[arg(short, long, value_name = "FILE")]
    pub(crate) copybook: Vec<PathBuf>,
    /// Code page of the records, such as cp037
    #[arg(short, long, value_name = "NAME", requires = "copybook")]
    pub(crate) encoding: Option<String>,
    #[command(flatten)]
    pub(crate) reading: CopybookArgs,
}

/// Arguments of `quayline file put`.
#[derive(Debug, clap::Args)]
pub(crate) struct PutArgs {
    /// Name of the file
    pub(crate) name: String,
    /// File that holds the record and nothing else, or `-` for standard input
    pub(crate) record: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    /// Replace the record with the same key
    #[arg(long)]
    pub(crate) replace: bool,
}

/// Arguments of `quayline file browse`.
#[derive(Debug, clap::Args)]
pub(crate) struct BrowseArgs {
    /// Name of the file
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Read towards the beginning
    #[arg(long)]
    pub(crate) reverse: bool,
    /// Maximum number of records
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10)]
    pub(crate) count: u64,
    /// Framing of the output: fixed, rdw, vb, vbs, lines, length, ...
    #[arg(short, long, value_name = "FRAMING", default_value = "fixed", conflicts_with = "copybook")]
    pub(crate) framing: String,
    #[command(flatten)]
    pub(crate) described: DescribedArgs,
}

/// Arguments of `quayline file delete`.
#[derive(Debug, clap::Args)]
pub(crate) struct DeleteArgs {
    /// Name of the file
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Code page of --key, such as cp037
    #[arg(short, long, value_name = "NAME", requires = "key")]
    pub(crate) encoding: Option<String>,
    /// Delete the file with all its records; not at a server
    #[arg(long)]
    pub(crate) all: bool,
}

/// Arguments of `quayline file run`.
#[derive(Debug, clap::Args)]
pub(crate) struct ScriptArgs {
    /// Script to read [default: standard input]
    pub(crate) script: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: FolderArg,
    /// Commit after each N operations [default: only at `commit` and at the end]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) commit_interval: Option<u64>,
    /// Print one JSON object for each operation
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline file facts`.
#[derive(Debug, clap::Args)]
pub(crate) struct FactsArgs {
    /// Name of the file [default: all files]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
}

/// Arguments of `quayline file alter`.
#[derive(Debug, clap::Args)]
pub(crate) struct AlterArgs {
    /// Name of the file
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: FolderArg,
    /// New name
    #[arg(long, value_name = "NAME")]
    pub(crate) rename: Option<String>,
    /// New length of the records in bytes, as N or MIN-MAX, at most 104,857,600 (100 MiB)
    #[arg(long, value_name = "LENGTH")]
    pub(crate) record: Option<String>,
    /// Alternate index to add, as NAME=OFFSET:LENGTH or NAME=OFFSET:LENGTH:duplicates
    #[arg(long, value_name = "INDEX")]
    pub(crate) add_index: Vec<String>,
    /// Alternate index to remove
    #[arg(long, value_name = "NAME")]
    pub(crate) drop_index: Vec<String>,
}

/// Arguments of `quayline file copy`.
#[derive(Debug, clap::Args)]
pub(crate) struct CopyArgs {
    /// File to copy
    pub(crate) from: String,
    /// Name of the copy
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) store: FolderArg,
}

/// Arguments of `quayline file verify`, `reorganise` and `preload`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// Name of the file
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: FolderArg,
}

/// Arguments of `quayline queue`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct QueueArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: QueueCommand,
}

/// What to do with queues.
#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// Define a queue, an alias or a topic; `alias` is shorter for an alias
    Define(DefineQueueArgs),
    /// Change limits, backout or targets of a queue, alias or topic; messages stay
    Alter(AlterQueueArgs),
    /// Delete a queue with its messages, an alias or a topic
    Delete(DeleteQueueArgs),
    /// Put the content of a file as a message
    Put(PutMessageArgs),
    /// Get a message and print its content
    Get(GetMessageArgs),
    /// List messages without removing them
    Browse(BrowseQueueArgs),
    /// Print the depth of a queue, or of all
    Depth(DepthArgs),
    /// Move messages to another queue
    Move(MoveArgs),
    /// Remove all messages of a queue
    Purge(PurgeArgs),
    /// Define a further name for a queue, as `define --alias` does
    Alias(AliasArgs),
    /// Return failed messages to the queues on which they failed
    Retry(RetryArgs),
    /// Serve the queues to AMQP 1.0 clients until SIGTERM or Ctrl-C
    Serve(ServeQueuesArgs),
}

/// Arguments of `quayline queue serve`.
///
/// Users, TLS and limits come from `[serve]` in the `quayline.toml` of a project. Without a project, only this machine can connect, and only with
/// `--anonymous`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SERVE_QUEUES_EXAMPLES)]
pub(crate) struct ServeQueuesArgs {
    #[command(flatten)]
    pub(crate) store: FolderArg,
    /// Folder of the project whose quayline.toml has the settings
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// Address and port, instead of those in quayline.toml [default: 127.0.0.1:5672]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// Let every program of this machine connect without authentication
    #[arg(long, conflicts_with = "project")]
    pub(crate) anonymous: bool,
}

/// Arguments of `quayline queue define`.
#[derive(Debug, clap::Args)]
pub(crate) struct DefineQueueArgs {
    /// Name of the queue: letters, digits and . _ - $ # @, at most 44
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    /// Maximum number of messages [default: 1000000]
    #[arg(long, value_name = "COUNT")]
    pub(crate) depth_max: Option<u64>,
    /// Longest message in bytes, at most 104,857,600 (100 MiB) [default: 4194304]
    #[arg(long, value_name = "BYTES")]
    pub(crate) message_max: Option<u64>,
    /// Rollbacks after which a message moves to the backout queue; 0 is never [default: 3]
    #[arg(long, value_name = "COUNT")]
    pub(crate) backout_threshold: Option<u32>,
    /// Queue for messages that reach the threshold [default: DEAD.LETTER]
    #[arg(long, value_name = "QUEUE")]
    pub(crate) backout_queue: Option<String>,
    /// Pause in milliseconds before a message that was rolled back can be got again, at most 60,000; doubles each time up to that [default: 0]
    #[arg(long, value_name = "MS")]
    pub(crate) retry: Option<u64>,
    #[command(flatten)]
    pub(crate) marks: DepthMarks,
    /// Make the name an alias of a queue
    #[arg(long, value_name = "QUEUE", conflicts_with = "subscriber")]
    pub(crate) alias: Option<String>,
    /// Make the name a topic that puts each message on this queue; repeatable
    #[arg(long, value_name = "QUEUE")]
    pub(crate) subscriber: Vec<String>,
}

/// Marks of the depth of a queue.
#[derive(Debug, clap::Args)]
pub(crate) struct DepthMarks {
    /// Depth at which an event reports that the queue is deep; 0 turns this off
    #[arg(long, value_name = "COUNT")]
    pub(crate) depth_high: Option<u64>,
    /// Depth at which an event reports that it no longer is [default: 0]
    #[arg(long, value_name = "COUNT")]
    pub(crate) depth_low: Option<u64>,
    /// Queue for these events; without one, a server logs them
    #[arg(long, value_name = "QUEUE")]
    pub(crate) event_queue: Option<String>,
}

/// Arguments of `quayline queue alter`.
#[derive(Debug, clap::Args)]
pub(crate) struct AlterQueueArgs {
    /// Name of the queue, alias or topic
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    /// Maximum number of messages
    #[arg(long, value_name = "COUNT")]
    pub(crate) depth_max: Option<u64>,
    /// Longest message in bytes, at most 104,857,600 (100 MiB)
    #[arg(long, value_name = "BYTES")]
    pub(crate) message_max: Option<u64>,
    /// Rollbacks after which a message moves to the backout queue; 0 is never
    #[arg(long, value_name = "COUNT")]
    pub(crate) backout_threshold: Option<u32>,
    /// Queue for messages that reach the threshold
    #[arg(long, value_name = "QUEUE")]
    pub(crate) backout_queue: Option<String>,
    /// Pause in milliseconds before a message that was rolled back can be got again, at most 60,000; doubles each time up to that
    #[arg(long, value_name = "MS")]
    pub(crate) retry: Option<u64>,
    #[command(flatten)]
    pub(crate) marks: DepthMarks,
    /// Queue of an alias
    #[arg(long, value_name = "QUEUE", conflicts_with = "subscriber")]
    pub(crate) alias: Option<String>,
    /// All queues of a topic; repeatable
    #[arg(long, value_name = "QUEUE")]
    pub(crate) subscriber: Vec<String>,
}

/// Arguments of `quayline queue delete`.
#[derive(Debug, clap::Args)]
pub(crate) struct DeleteQueueArgs {
    /// Name of the queue, alias or topic
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    /// Delete the queue although it has messages
    #[arg(long)]
    pub(crate) with_messages: bool,
}

/// Arguments of `quayline queue put`.
#[derive(Debug, clap::Args)]
pub(crate) struct PutMessageArgs {
    /// Name of the queue
    pub(crate) name: String,
    /// File that holds the message, or `-` for standard input
    pub(crate) message: PathBuf,
    #[command(flatten)]
    pub(crate) store: FolderArg,
    /// Priority, 0 to 9
    #[arg(long, value_name = "PRIORITY", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=9))]
    pub(crate) priority: u8,
    /// Milliseconds after which the message expires
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) expiry: Option<u64>,
    /// Correlation id: an even number of hexadecimal digits, at most 48
    #[arg(long, value_name = "HEX")]
    pub(crate) correlation: Option<String>,
    /// Group id: an even number of hexadecimal digits, at most 48
    #[arg(long, value_name = "HEX", requires = "sequence")]
    pub(crate) group: Option<String>,
    /// Number in the group, from 1
    #[arg(long, value_name = "NUMBER", requires = "group", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) sequence: Option<u32>,
    /// Message id: an even number of hexadecimal digits, at most 48 [default: a new one]
    #[arg(long, value_name = "HEX")]
    pub(crate) id: Option<String>,
    /// Queue for the reply
    #[arg(long, value_name = "QUEUE")]
    pub(crate) reply_to: Option<String>,
    /// Format name
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,
    /// Property, as NAME=VALUE; repeatable
    ///
    /// The property `content-type` is the media type of the content, for clients of HTTP and AMQP.
    #[arg(long, value_name = "PROPERTY")]
    pub(crate) property: Vec<String>,
    /// User who sends the message, as listeners set it: `envelope.user_id` of flows
    #[arg(long, value_name = "USER")]
    pub(crate) user_id: Option<String>,
}

/// Arguments of `quayline queue get`.
#[derive(Debug, clap::Args)]
pub(crate) struct GetMessageArgs {
    /// Name of the queue
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: FolderArg,
    /// Message id as 48 hexadecimal digits
    #[arg(long, value_name = "HEX", conflicts_with = "correlation")]
    pub(crate) id: Option<String>,
    /// Correlation id: an even number of hexadecimal digits, at most 48
    #[arg(long, value_name = "HEX")]
    pub(crate) correlation: Option<String>,
    /// Group id: an even number of hexadecimal digits, at most 48; the lowest number in the group is first
    #[arg(long, value_name = "HEX", conflicts_with_all = ["id", "correlation"])]
    pub(crate) group: Option<String>,
    /// Seconds to wait for a message
    ///
    /// Useful with a store in PostgreSQL, where another process may put the message while this one waits.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait: u64,
    /// Print one JSON object with the content and all that belongs to the message
    ///
    /// Content and properties that are not UTF-8 are hexadecimal digits, under a name that ends with `_hex`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline queue browse`.
#[derive(Debug, clap::Args)]
pub(crate) struct BrowseQueueArgs {
    /// Name of the queue
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    /// Maximum number of messages
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) count: usize,
    /// Print one JSON object for each message, without its content
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline queue depth`.
#[derive(Debug, clap::Args)]
pub(crate) struct DepthArgs {
    /// Name of the queue [default: all queues]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
}

/// Arguments of `quayline queue move`.
#[derive(Debug, clap::Args)]
pub(crate) struct MoveArgs {
    /// Queue to get from
    pub(crate) from: String,
    /// Queue to put on
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    /// Maximum number of messages [default: all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) count: Option<u64>,
}

/// Arguments of `quayline queue purge`.
#[derive(Debug, clap::Args)]
pub(crate) struct PurgeArgs {
    /// Name of the queue
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
}

/// Arguments of `quayline queue alias`.
#[derive(Debug, clap::Args)]
pub(crate) struct AliasArgs {
    /// New name
    pub(crate) name: String,
    /// Queue, topic or alias that the name leads to
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
}

/// Arguments of `quayline queue retry`.
#[derive(Debug, clap::Args)]
pub(crate) struct RetryArgs {
    /// Backout or dead-letter queue
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreOrServerArg,
    /// Maximum number of messages [default: all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) count: Option<u64>,
}

/// Arguments of `quayline store`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct StoreArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

/// What to do with the store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Check everything that is stored
    Check(StoreFolderArgs),
    /// Print figures of the store
    Facts(StoreFolderArgs),
    /// Return unused space to the file system
    Compact(StoreFolderArgs),
    /// Save everything that the store holds to one file
    Save(SaveArgs),
    /// Make a store from a save
    Restore(RestoreArgs),
}

/// Arguments of `quayline store save`.
#[derive(Debug, clap::Args)]
pub(crate) struct SaveArgs {
    /// File to write, or with --parts the folder
    ///
    /// Quayline replaces a file when the new save is complete. A folder that has a complete save is refused.
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) store: FolderArg,
    /// Compress the save
    #[arg(long)]
    pub(crate) compress: bool,
    /// Write a folder of parts, which can continue after a stop
    ///
    /// Run the same command again after a stop. Quayline keeps the finished parts whose files are intact and whose records have not changed since. It writes the
    /// others again. The complete save is the state of the store at the beginning of the last run.
    #[arg(long)]
    pub(crate) parts: bool,
    /// Size of the parts before compression, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, requires = "parts", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) part_size: u32,
    /// Number of threads that compress and compare [default: one for each processor]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
}

/// Arguments of `quayline store restore`.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// Save to read: a file, or a folder of parts
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) store: FolderArg,
    /// Replace the store that is in the folder
    #[arg(long)]
    pub(crate) replace: bool,
    /// Check the save and change nothing
    #[arg(long, conflicts_with = "replace")]
    pub(crate) check: bool,
}

/// Arguments of `quayline store check`, `facts` and `compact`.
#[derive(Debug, clap::Args)]
pub(crate) struct StoreFolderArgs {
    #[command(flatten)]
    pub(crate) store: FolderArg,
}

const ALTER_EXAMPLES: &str = "\
Except for a new name alone, Quayline copies the records and then exchanges the files in one unit of work. A change that does not fit a record
leaves the file as it was.

Examples:
  quayline file alter CUSTOMERS --rename CLIENTS
  quayline file alter ORDERS --add-index date=20:8:duplicates --record 40-800";

const RUN_EXAMPLES: &str = "\
A script has one operation a line, and # begins a comment:

  open NAME                        use this record file from here on
  get KEY                          read a record
  insert RECORD                    insert a record
  rewrite RECORD                   replace the record that has the same key
  delete KEY                       delete a record
  start [KEY]                      position the browse at a record, or at the first one
  end                              position the browse after the last record
  next, previous                   read the next or the previous record of the browse
  commit, rollback                 end the unit of work

After KEY, write `by INDEX` for an alternate index, `at-least` to accept the next greater key, and
`for-update` to lock the record. In an esds, write `address N` in place of a key, and in an rrds
`number N`; `rewrite RECORD` and `insert RECORD` take them too. Quote a word that has blanks, and
double a quote in it: 'it''s'. x'C1F2' is a word as hexadecimal digits.

Each line of the output has the line of the script, the file status and, after a read, the record
as a word. An operation that fails changes nothing, and the script continues. It stops at a line
that is not an operation, and when the store fails. Quayline then undoes what is not committed.

Examples:
  quayline file run nightly.ops
  printf \"open CUSTOMERS\\nget 00001234\\n\" | quayline file run --json";

const SERVE_QUEUES_EXAMPLES: &str = "\
Examples:
  quayline queue serve --anonymous
  quayline queue serve --project . --listen 127.0.0.1:5673";

const DEFINE_FILE_EXAMPLES: &str = "\
Offsets count from 0. Keys are compared byte by byte, so an EBCDIC file keeps its order.

Examples:
  quayline file define CUSTOMERS --record 32 --key 0:8
  quayline file define ACCOUNTS -c accounts.cpy --key ACCOUNT-ID --index holder=FAMILY-NAME:duplicates
  quayline file define ORDERS --record 40-400 --key 0:10 --index customer=10:8:duplicates
  quayline file define JOURNAL --organisation esds --record 1-4096";
