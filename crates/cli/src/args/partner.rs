//! Arguments of `quayline partner`, `transaction`, `interchange` and `envelope`.

use std::path::PathBuf;

use clap::Subcommand;

use super::choices::file_name;

/// The project and its store.
#[derive(Debug, clap::Args)]
pub(crate) struct ProjectArgs {
    /// Folder of the project, with `partners`, maps and guides
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) project: PathBuf,
    /// Data folder of the store [default: `data` in the project]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) durability: super::DurabilityOption,
}

/// Arguments of `quayline partner`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct PartnerArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: PartnerCommand,
}

/// What to do with partners.
#[derive(Debug, Subcommand)]
pub(crate) enum PartnerCommand {
    /// Check all partners, and the maps and guides that they name
    Check(PartnerCheckArgs),
    /// List partners
    List(PartnerListArgs),
    /// Print a partner with its rules and effective settings
    Show(PartnerShowArgs),
    /// Add partners from files in TOML or JSON
    #[command(after_long_help = ADD_EXAMPLES)]
    Add(PartnerAddArgs),
    /// Add partners from files, and replace those that are there
    Import(PartnerImportArgs),
    /// Print partners in the form that `import` reads
    Export(PartnerExportArgs),
    /// Remove partners
    Remove(PartnerRemoveArgs),
    /// Print who changed which partner when, the newest first, one JSON object a line
    Changes(PartnerChangesArgs),
    /// Explain which rule takes a document, and where each setting comes from
    #[command(after_long_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Receive interchanges: check, acknowledge, translate and deliver them
    #[command(after_long_help = RECEIVE_EXAMPLES)]
    Receive(ReceiveArgs),
    /// Send documents: translate, number and envelope them
    #[command(after_long_help = SEND_EXAMPLES)]
    Send(SendArgs),
    /// List files that are committed and not yet written
    Outbox(PartnerOutboxArgs),
    /// Watch folders and queues: receive and send what arrives, and release envelopes that are due
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(RunArgs),
}

const EXPLAIN_EXAMPLES: &str = "Examples:\n  quayline partner explain order.x12\n  quayline partner explain --partner ACME --document 850 --version 004010";
const ADD_EXAMPLES: &str = "Examples:\n  quayline partner add us.toml acme.toml\n  quayline partner export > partners.json\n  quayline partner import partners.json\n  quayline partner add --in-store us.toml acme.toml";
const RECEIVE_EXAMPLES: &str =
    "Examples:\n  quayline partner receive inbox/order.x12\n  cat order.x12 | quayline partner receive -";
const SEND_EXAMPLES: &str = "Examples:\n  quayline partner send --document invoice invoices.dat\n  quayline partner send --to ACME --document order-response response.json\n  quayline partner send --to ACME reply.x12";
const RUN_EXAMPLES: &str = "Examples:\n  quayline partner run --inbox inbox\n  quayline partner run --inbox inbox --send invoice=to-send/invoices --once\n  quayline partner run --inbox queue:FROM-PARTNERS --send order=queue:ORDERS";

impl PartnerCommand {
    /// Whether programs read the answer.
    pub(crate) fn json(&self) -> bool {
        match self {
            PartnerCommand::Check(_)
            | PartnerCommand::Run(_)
            | PartnerCommand::Add(_)
            | PartnerCommand::Import(_)
            | PartnerCommand::Export(_)
            | PartnerCommand::Changes(_)
            | PartnerCommand::Remove(_) => false,
            PartnerCommand::List(args) => args.json,
            PartnerCommand::Show(args) => args.json,
            PartnerCommand::Explain(args) => args.json,
            PartnerCommand::Receive(args) => args.json,
            PartnerCommand::Send(args) => args.json,
            PartnerCommand::Outbox(args) => args.json,
        }
    }
}

/// Arguments of `quayline partner check`.
#[derive(Debug, clap::Args)]
pub(crate) struct PartnerCheckArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Arguments of `quayline partner add` and `import`.
#[derive(Debug, clap::Args)]
pub(crate) struct PartnerAddArgs {
    /// Partner files in TOML, or JSON with one or several partners; - is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Keep the partners in the store, not in files [default: where they are, and new ones in files]
    #[arg(long)]
    pub(crate) in_store: bool,
}

/// Arguments of `quayline partner import`.
#[derive(Debug, clap::Args)]
pub(crate) struct PartnerImportArgs {
    #[command(flatten)]
    pub(crate) files: PartnerAddArgs,
    /// Change a partner only if it still has this version, which `show` prints
    #[arg(long, value_name = "VERSION")]
    pub(crate) if_version: Option<String>,
}

/// Arguments of `quayline partner changes`.
#[derive(Debug, clap::Args)]
pub(crate) struct PartnerChangesArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Maximum number of changes
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) count: usize,
}

/// Arguments of `quayline partner export`.
#[derive(Debug, clap::Args)]
pub(crate) struct PartnerExportArgs {
    /// Names of the partners [default: all]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Print the file of one partner as it is, in TOML with its comments, instead of JSON
    #[arg(long)]
    pub(crate) toml: bool,
    /// Print only partners in the store
    #[arg(long)]
    pub(crate) in_store: bool,
}

/// Arguments of `quayline partner remove`.
#[derive(Debug, clap::Args)]
pub(crate) struct PartnerRemoveArgs {
    /// Names of the partners
    #[arg(required = true)]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Remove partners in the store only
    #[arg(long)]
    pub(crate) in_store: bool,
    /// Remove a partner only if it still has this version, which `show` prints
    #[arg(long, value_name = "VERSION")]
    pub(crate) if_version: Option<String>,
}

/// Arguments of `quayline partner list`.
#[derive(Debug, clap::Args)]
pub(crate) struct PartnerListArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline partner show`.
#[derive(Debug, clap::Args)]
pub(crate) struct PartnerShowArgs {
    /// Name of the partner
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline partner explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// File with interchanges of a partner
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Partner, instead of a file
    #[arg(long, value_name = "NAME", conflicts_with = "file", required_unless_present = "file")]
    pub(crate) partner: Option<String>,
    /// Type of the document: 850, ORDERS, or the name of a document to send
    #[arg(long, value_name = "TYPE", default_value = "", conflicts_with = "file")]
    pub(crate) document: String,
    /// Version of the document, such as 004010 or D:96A:UN
    #[arg(long, value_name = "VERSION", default_value = "", conflicts_with = "file")]
    pub(crate) version: String,
    /// Value of an element, such as BEG02=SA; may be given several times
    #[arg(long, value_name = "ELEMENT=VALUE", conflicts_with = "file")]
    pub(crate) when: Vec<String>,
    /// The document is a test
    #[arg(long, conflicts_with = "file")]
    pub(crate) test: bool,
    /// The document is sent, not received
    #[arg(long, conflicts_with = "file")]
    pub(crate) send: bool,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline partner receive`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReceiveArgs {
    /// Files to receive; - is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Receive a file again although the same bytes were received before
    #[arg(long)]
    pub(crate) again: bool,
    /// Maximum number of transactions that commit together
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) commit_interval: u16,
    /// Print a JSON object for each file
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline partner send`.
#[derive(Debug, clap::Args)]
pub(crate) struct SendArgs {
    /// Files to send; - is standard input, `file:NAME` a record file of the store
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Partner [default: the receiver that the map writes]
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Own partner file whose identity sends [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    /// Kind of document, by which the rule is chosen [default: EDI that is sent as it is]
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) document: String,
    /// Send a file again although the same bytes were sent before
    #[arg(long)]
    pub(crate) again: bool,
    /// Print a JSON object for each file
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline partner outbox`.
#[derive(Debug, clap::Args)]
pub(crate) struct PartnerOutboxArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline partner run`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Folder of interchanges from partners, or `queue:NAME`; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) inbox: Vec<PathBuf>,
    /// Folder of documents to send, as DOCUMENT=DIR or DOCUMENT=queue:NAME; may be given several times
    #[arg(long, value_name = "DOCUMENT=DIR")]
    pub(crate) send: Vec<String>,
    /// Folder for files that are done
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub(crate) archive: PathBuf,
    /// Folder for files that hold nothing that can be processed
    #[arg(long, value_name = "DIR", default_value = "rejected")]
    pub(crate) rejected: PathBuf,
    /// Seconds that a file must be unchanged before it is read
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub(crate) settle: u64,
    /// Seconds between two checks
    #[arg(long, value_name = "SECONDS", default_value_t = 1, conflicts_with = "once")]
    pub(crate) interval: u64,
    /// Check once, process what is there, and end
    #[arg(long)]
    pub(crate) once: bool,
}

/// Arguments of `quayline transaction`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct TransactionArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: TransactionCommand,
}

/// What to do with documents.
#[derive(Debug, Subcommand)]
pub(crate) enum TransactionCommand {
    /// List documents, the newest first
    #[command(visible_alias = "search", after_long_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Print one document: state, numbers, findings, history, bytes
    Show(EntryArgs),
    /// Process a document again with the current maps, guides and rules
    Reprocess(ReprocessArgs),
    /// Send the partner an application advice about a received document: an 824 or APERAK
    Advise(AdviseArgs),
    /// Write entries as JSON lines or CSV
    Export(ExportArgs),
    /// Remove entries that are older than their retention
    Purge(PurgeArgs),
}

const LIST_EXAMPLES: &str = "Examples:\n  quayline transaction list --partner ACME --from 2026-04-01\n  quayline transaction list --state rejected\n  quayline transaction search --field purchase-order=PO4711";

impl TransactionCommand {
    /// Whether programs read the answer.
    pub(crate) fn json(&self) -> bool {
        match self {
            TransactionCommand::List(args) => args.json,
            TransactionCommand::Show(args) => args.json,
            TransactionCommand::Reprocess(_)
            | TransactionCommand::Advise(_)
            | TransactionCommand::Export(_)
            | TransactionCommand::Purge(_) => false,
        }
    }
}

/// Which entries.
#[derive(Debug, clap::Args)]
pub(crate) struct FilterArgs {
    /// Partner, by name
    #[arg(long, value_name = "NAME")]
    pub(crate) partner: Option<String>,
    /// State, such as rejected, unrouted, waiting, sent, refused
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// Only what was received
    #[arg(long, conflicts_with = "sent")]
    pub(crate) received: bool,
    /// Only what was sent
    #[arg(long)]
    pub(crate) sent: bool,
    /// Type of document, such as 850
    #[arg(long, value_name = "TYPE")]
    pub(crate) document: Option<String>,
    /// Name of the guide that checked it, or the digest of the partner's guides
    #[arg(long, value_name = "GUIDE")]
    pub(crate) guide: Option<String>,
    /// Digest of a map, as `quayline transaction show` prints it
    #[arg(long, value_name = "DIGEST")]
    pub(crate) map: Option<String>,
    /// Rule, as OWNER/NAME
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: Option<String>,
    /// Code of a finding, such as PTN-113
    #[arg(long, value_name = "CODE")]
    pub(crate) finding: Option<String>,
    /// Control number of an interchange, with what is in it, or of a group
    #[arg(long, value_name = "NUMBER")]
    pub(crate) number: Option<String>,
    /// Business field of a rule, as NAME=VALUE
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) field: Option<String>,
    /// Not before this time in UTC: 2026-04-01 or 2026-04-01T12:00
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Before this time in UTC
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,
}

/// Arguments of `quayline transaction list` and `interchange list`.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Maximum number of entries
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) count: usize,
    /// Continue after this place, which a full page prints
    #[arg(long, value_name = "PLACE")]
    pub(crate) after: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline transaction show`.
#[derive(Debug, clap::Args)]
pub(crate) struct EntryArgs {
    /// Number of the entry
    pub(crate) entry: u64,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Print the bytes that are kept, and nothing else
    #[arg(long, conflicts_with = "json")]
    pub(crate) bytes: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline transaction reprocess`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReprocessArgs {
    /// Numbers of entries
    #[arg(required = true)]
    pub(crate) entries: Vec<u64>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// File with the corrected document: an interchange with one transaction
    #[arg(long, value_name = "FILE")]
    pub(crate) with: Option<PathBuf>,
}

/// Arguments of `quayline transaction advise`.
#[derive(Debug, clap::Args)]
pub(crate) struct AdviseArgs {
    /// Number of the entry
    pub(crate) entry: u64,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Outcome to report: accepted, accepted-with-errors or rejected
    #[arg(long, value_name = "OUTCOME", default_value = "rejected")]
    pub(crate) outcome: String,
    /// Reason in your own words, instead of the findings of the document; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
}

/// Arguments of `quayline transaction export`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Write CSV instead of JSON lines
    #[arg(long)]
    pub(crate) csv: bool,
    /// Write a Parquet file with business fields, outputs and findings as lists
    #[arg(long, value_name = "FILE", value_parser = file_name(), conflicts_with = "csv")]
    pub(crate) parquet: Option<PathBuf>,
}

/// Arguments of `quayline transaction purge`.
#[derive(Debug, clap::Args)]
pub(crate) struct PurgeArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Remove entries that are older than this many days, whatever their retention
    #[arg(long, value_name = "DAYS")]
    pub(crate) older_than: Option<u64>,
}

/// Arguments of `quayline interchange`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct InterchangeArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: InterchangeCommand,
}

/// What to do with interchanges.
#[allow(clippy::large_enum_variant, reason = "a process has one")]
#[derive(Debug, Subcommand)]
pub(crate) enum InterchangeCommand {
    /// List interchanges, the newest first
    List(ListArgs),
    /// Print one interchange: state, numbers, findings, history, bytes
    Show(EntryArgs),
    /// List sent interchanges, groups and documents whose acknowledgment is overdue
    Overdue(OverdueArgs),
    /// Send the bytes of an interchange again, as they were
    Resend(InterchangeEntryArgs),
    /// Put the documents of an interchange into a new one, with new numbers
    Reenvelope(InterchangeEntryArgs),
}

impl InterchangeCommand {
    /// Whether programs read the answer.
    pub(crate) fn json(&self) -> bool {
        match self {
            InterchangeCommand::List(args) => args.json,
            InterchangeCommand::Show(args) => args.json,
            InterchangeCommand::Overdue(args) => args.json,
            InterchangeCommand::Resend(_) | InterchangeCommand::Reenvelope(_) => false,
        }
    }
}

/// Arguments of `quayline interchange overdue`.
#[derive(Debug, clap::Args)]
pub(crate) struct OverdueArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Reference time in UTC [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline interchange resend` and `reenvelope`.
#[derive(Debug, clap::Args)]
pub(crate) struct InterchangeEntryArgs {
    /// Number of the interchange's entry
    pub(crate) entry: u64,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Arguments of `quayline envelope`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct EnvelopeArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: EnvelopeCommand,
}

/// What to do with delayed envelopes.
#[derive(Debug, Subcommand)]
pub(crate) enum EnvelopeCommand {
    /// List envelopes that documents wait for
    List(EnvelopeListArgs),
    /// Release envelopes: write and send their interchanges
    Release(ReleaseArgs),
}

/// Arguments of `quayline envelope list`.
#[derive(Debug, clap::Args)]
pub(crate) struct EnvelopeListArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `quayline envelope release`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("which").required(true).args(["partner", "all", "due"])))]
pub(crate) struct ReleaseArgs {
    /// Release the envelopes of this partner
    pub(crate) partner: Option<String>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Release all envelopes
    #[arg(long)]
    pub(crate) all: bool,
    /// Release only envelopes that are due
    #[arg(long)]
    pub(crate) due: bool,
}
