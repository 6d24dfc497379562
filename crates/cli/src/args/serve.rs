//! Arguments of `quayline serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::ReportArgs;
use crate::quantity::Duration;

/// Arguments of `quayline serve`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  quayline serve examples/dealership\n  quayline serve --listen 127.0.0.1:9000 --threads 1"
)]
pub(crate) struct ServeArgs {
    /// Folder of the project, with quayline.toml
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub(crate) project: PathBuf,
    /// Address and port, instead of those in quayline.toml
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Number of server threads [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Read everything, report all faults, and exit
    #[arg(long)]
    pub(crate) check: bool,
    /// Data folder of flows, record files and queues [default: FOLDER/data]
    #[arg(long = "store", value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) durability: super::DurabilityOption,
    /// PostgreSQL database of the job repository [default: the store]
    #[arg(long, value_name = "URL")]
    pub(crate) job_repository: Option<String>,
}

/// Propose an API.
#[derive(Debug, clap::Args)]
pub(crate) struct ApiArgs {
    /// What is done.
    #[command(subcommand)]
    pub(crate) what: ApiCommand,
}

/// What is done with APIs.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ApiCommand {
    /// Write a service and an API for a COBOL program or a record file
    ///
    /// Writes services/NAME.toml and apis/NAME.toml. A program gets one operation that calls it: fields of its LINKAGE records are members of the body,
    /// or parameters. A record file gets operations that browse, read, insert, replace, update and delete records; if the store has no such file, the
    /// command defines it empty. It replaces no file.
    New(ApiNewArgs),
}

/// Arguments of `quayline api new`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  quayline api new PRICES.cbl\n  quayline api new PRICES.cbl --operation 'GET /{article}'\n  quayline api new customer.cpy --file CUSTOMER --key CUSTOMER-ID\n  quayline api new customer.cpy --file CUSTOMER --key CUSTOMER-ID --encoding cp037 --index CITY=CITY:duplicates"
)]
pub(crate) struct ApiNewArgs {
    /// Source of the program, or copybook of the records
    ///
    /// If it is outside the project, the project gets a copy, with the COPY members in the same folder.
    #[arg(value_name = "COPYBOOK")]
    pub(crate) copybook: PathBuf,
    /// Operation of a program: method and path, with fields of the request in braces
    #[arg(long, default_value = "POST /call", value_name = "OPERATION", conflicts_with = "file")]
    pub(crate) operation: String,
    /// PROGRAM-ID of the program [default: that of its source]
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub(crate) program: Option<String>,
    /// Record of a parameter of the program, in the order of USING; may occur more than once [default: those that its source names]
    #[arg(long = "parameter", value_name = "NAME", conflicts_with_all = ["file", "record"])]
    pub(crate) parameters: Vec<String>,
    /// Record file of the store, instead of a program
    #[arg(long, value_name = "NAME", requires = "key")]
    pub(crate) file: Option<String>,
    /// Field or group that is the key
    #[arg(long, value_name = "FIELD", requires = "file")]
    pub(crate) key: Option<String>,
    /// Alternate index: NAME=FIELD, or NAME=FIELD:duplicates
    #[arg(long = "index", value_name = "INDEX", requires = "file")]
    pub(crate) indexes: Vec<String>,
    /// Name of the service and the API [default: that of the program or file in lower case]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Record description, if the copybook has several
    #[arg(long, value_name = "NAME")]
    pub(crate) record: Option<String>,
    /// Code page of the records; cp037 or another EBCDIC page for records of z/OS
    #[arg(long, default_value = "ascii", value_name = "PAGE")]
    pub(crate) encoding: String,
    /// Compiler to follow: ibm, gnucobol or microfocus [default: gnucobol; ibm for an EBCDIC page]
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// Change a limit: NAME=N, such as fields=200K
    #[arg(long, value_name = "NAME=N", long_help = super::LIMIT_LONG_HELP)]
    pub(crate) limit: Vec<super::LimitArg>,
    /// Folder of the project, created if it does not exist
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    pub(crate) project: PathBuf,
    /// Data folder of the store [default: FOLDER/data]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
}

/// Measure the cost of transactions on this machine; the exit code is 1 if a target is missed, 4 if a figure is worse than in the baseline.
#[derive(Debug, clap::Args)]
pub(crate) struct MeasureArgs {
    /// What is measured.
    #[command(subcommand)]
    pub(crate) what: MeasureCommand,
}

/// The studies.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum MeasureCommand {
    /// Run the scenarios of IBM's report: throughput, CPU per transaction, response times
    Gateway(MeasureGatewayArgs),
    /// Run the samples of IBM's report on record-file nodes: messages a second, CPU by component
    Flow(MeasureFlowArgs),
    /// Run the experiments of IBM's paper on Liberty Batch: item-count, checkpoint data, partitions
    Batch(MeasureBatchArgs),
    /// Measure a mix of virtual users on a server that already runs
    Mix(MeasureMixArgs),
    /// Measure messages and records of a store by number of drivers, and its recovery after a kill
    Store(MeasureStoreArgs),
    /// Measure one load on a store whose caches become smaller in steps
    Memory(MeasureMemoryArgs),
    /// Measure requests, connections and streams over loopback: plain, with TLS, and with certificates of both sides
    Net(MeasureNetArgs),
    /// Measure encryption, digests and signatures by length and by threads
    Crypto(MeasureCryptoArgs),
    /// Run the tests of a translator's study of 2005: CPU, time and memory, with its figures beside them
    Translate(MeasureTranslateArgs),
    /// Convert record files to JSON, CSV and Parquet and back, by size: CPU, time and memory
    Convert(MeasureConvertArgs),
    /// Measure a translation by kind of data and number of workers, and cold and warm starts
    Sweep(MeasureSweepArgs),
    /// Size a gateway, a mix of flows and a night of batch from light loads, then measure them
    Sizing(MeasureSizingArgs),
}

impl MeasureCommand {
    /// Files of the report, and the earlier run to compare with.
    pub(crate) fn files(&self) -> &ReportArgs {
        let measured = match self {
            MeasureCommand::Gateway(args) => &args.report,
            MeasureCommand::Flow(args) => &args.report,
            MeasureCommand::Batch(args) => &args.report,
            MeasureCommand::Mix(args) => &args.report,
            MeasureCommand::Store(args) => &args.report,
            MeasureCommand::Memory(args) => &args.report,
            MeasureCommand::Net(args) => &args.report,
            MeasureCommand::Crypto(args) => &args.report,
            MeasureCommand::Translate(args) => &args.report,
            MeasureCommand::Convert(args) => &args.report,
            MeasureCommand::Sweep(args) => &args.report,
            MeasureCommand::Sizing(args) => &args.report,
        };
        &measured.files
    }
}

/// Arguments of `quayline measure convert`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  quayline measure convert\n  quayline measure convert --megabytes-max 1000 --workers 4 --report convert"
)]
pub(crate) struct MeasureConvertArgs {
    /// Megabytes of the largest record file; smaller ones have a tenth each, down to 1 MB
    #[arg(long, default_value_t = 100, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) megabytes_max: u64,
    /// Threads of each run
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) workers: u16,
    /// Folder in which the run creates one for its data (six times the largest file) and removes it [default: the system's for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

/// Arguments of `quayline measure sweep`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  quayline measure sweep\n  quayline measure sweep --megabytes 1000 --workers 1,2,4,8 --report sweep"
)]
pub(crate) struct MeasureSweepArgs {
    /// Megabytes of input of each run
    #[arg(long, default_value_t = 64, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) megabytes: u64,
    /// Numbers of workers, ascending
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_name = "N,N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) workers: Vec<u16>,
    /// Folder in which the run creates one for its data (four times the input) and removes it [default: the system's for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

/// How a measurement is written.
#[derive(Debug, clap::Args)]
pub(crate) struct MeasuredArgs {
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) files: ReportArgs,
}

/// Arguments of `quayline measure sizing`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  quayline measure sizing\n  quayline measure sizing --records 1000000 --report sizing"
)]
pub(crate) struct MeasureSizingArgs {
    /// Folder of the sample flows
    #[arg(default_value = "examples/flows", value_name = "FOLDER")]
    pub(crate) flows: PathBuf,
    /// Seconds of each run of the gateway and the flows
    #[arg(long, default_value_t = 3.0, value_name = "N", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Records of the night
    #[arg(long, default_value_t = 400_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1_000..))]
    pub(crate) records: u64,
    /// Largest error of a prediction on a quiet machine, in percent; a larger one gives exit code 5
    #[arg(long = "error-max", default_value_t = 15.0, value_name = "PERCENT", value_parser = percent)]
    pub(crate) error_max: f64,
    /// Folder in which the run creates one for its data and removes it [default: the system's for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

/// Arguments of `quayline measure mix`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = MEASURE_MIX_EXAMPLES)]
pub(crate) struct MeasureMixArgs {
    /// Classes of users and their steps, as TOML
    #[arg(value_name = "FILE")]
    pub(crate) mix: PathBuf,
    /// Address and port of the server [default: that of the file]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<SocketAddr>,
    /// Seconds that are measured
    #[arg(long, default_value_t = 10.0, value_name = "N", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Seconds before anything is measured
    #[arg(long, default_value_t = 2.0, value_name = "N", value_parser = seconds)]
    pub(crate) warm_up: f64,
    /// Process of the server on this machine, for its CPU time
    #[arg(long, value_name = "PROCESS-ID")]
    pub(crate) process: Option<u32>,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

const MEASURE_MIX_EXAMPLES: &str = "\
The file has an address, headers of all requests, and classes of users that run at once:

  address = \"127.0.0.1:8080\"
  [[class]]
  name = \"readers\"
  users = 50
  think = \"500ms\"
  [[class.step]]
  weight = 90
  target = \"/orders/1\"
  [[class.step]]
  weight = 10
  method = \"POST\"
  target = \"/orders\"
  content-type = \"application/json\"
  body-file = \"order.json\"

The exit code is 1 if a request fails.

Examples:
  quayline measure mix day.toml
  quayline measure mix day.toml --seconds 60 --process 4711 --report day";

/// Arguments of `quayline measure store`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  quayline measure store\n  quayline measure store --drivers 1,16,256 --p95-max 20ms --report store"
)]
pub(crate) struct MeasureStoreArgs {
    /// Numbers of drivers at once
    #[arg(long, value_delimiter = ',', default_value = "1,8,64", value_name = "N,N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) drivers: Vec<u16>,
    /// Seconds of each run
    #[arg(long, default_value_t = 1.0, value_name = "N", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Bytes of a message
    #[arg(long, default_value_t = 1_024, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) bytes: u32,
    /// Largest 95th percentile, for the most drivers that keep it
    #[arg(long, default_value = "10ms", value_name = "TIME")]
    pub(crate) p95_max: Duration,
    /// Open units of work of the processes that are killed
    #[arg(long, value_delimiter = ',', default_value = "50,150,500", value_name = "N,N", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) open: Vec<u32>,
    /// Folder in which the run creates one for its data and removes it [default: the system's for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

/// Arguments of `quayline measure memory`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  quayline measure memory\n  quayline measure memory --limits 512,256,128,64 --records 5000000 --report memory"
)]
pub(crate) struct MeasureMemoryArgs {
    /// Megabytes of the store's caches, one step each, the largest first
    #[arg(long, value_delimiter = ',', default_value = "64,32,16,8,4,2", value_name = "MB,MB", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) limits: Vec<u32>,
    /// Records of the file, of 80 bytes each
    #[arg(long, default_value_t = 300_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,
    /// Drivers at once
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) drivers: u16,
    /// Seconds of each step, after a warm-up of half that time
    #[arg(long, default_value_t = 2.0, value_name = "N", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Folder in which the run creates one for its data and removes it [default: the system's for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

/// Arguments of `quayline measure net`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  quayline measure net\n  quayline measure net --clients 8 --report net")]
pub(crate) struct MeasureNetArgs {
    /// Clients at once, each with a server thread of its own
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) clients: u32,
    /// Seconds of each turn; each of 10 rows has three turns
    #[arg(long, default_value_t = 0.3, value_name = "N", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

/// Arguments of `quayline measure crypto`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  quayline measure crypto\n  quayline measure crypto --threads 4 --report crypto"
)]
pub(crate) struct MeasureCryptoArgs {
    /// Threads of the second run of each operation [default: those of the machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Seconds of each run; there are 27 rows with two runs each
    #[arg(long, default_value_t = 0.2, value_name = "N", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

/// A share, which may be larger than the whole.
fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("expected a number of percent, 0 or more".to_owned()),
    }
}

/// A time of a run that ends.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.01..=3_600.0).contains(&value) => Ok(value),
        _ => Err("expected 0.01 to 3600 seconds".to_owned()),
    }
}

/// Arguments of `quayline measure translate`.
#[derive(Debug, clap::Args)]
pub(crate) struct MeasureTranslateArgs {
    /// Largest input in megabytes; the study goes up to 2048, and its case study to 82 [default: no limit]
    #[arg(long, value_name = "MB")]
    pub(crate) megabytes_max: Option<u64>,
    /// Folder in which the run creates one for its data (twice the largest input) and removes it [default: the system's for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

/// Arguments of `quayline measure batch`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Each experiment runs on a PostgreSQL server that the command starts, with the floor beside it: the same SQL over a bare connection. Then it runs on the store of Quayline.\n\nExamples:\n  quayline measure batch\n  quayline measure batch --in store --records 100000"
)]
pub(crate) struct MeasureBatchArgs {
    /// Records of each run; the paper has 10,000,000
    #[arg(long, default_value_t = 200_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1_000..))]
    pub(crate) records: u64,
    /// Where the job repository and the rows are
    #[arg(long = "in", default_value = "both", value_name = "WHERE", value_parser = ["both", "postgresql", "store"])]
    pub(crate) place: String,
    /// Delete with one statement for each row or for each chunk; E3 and E4 measure both, and one by one
    #[arg(long, default_value = "rows", value_name = "HOW", value_parser = ["rows", "set"])]
    pub(crate) deletes: String,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

/// Names of the samples of `quayline measure flow`.
const FLOW_SAMPLES: [&str; 8] = ["1", "2b", "3", "4", "5", "files", "open", "buffers"];

/// A number of applications or clients that work at once.
fn at_once(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(number @ 1..=10_000) => Ok(number),
        _ => Err("expected a number from 1 to 10000".to_owned()),
    }
}

/// Arguments of `quayline measure flow`.
#[derive(Debug, clap::Args)]
pub(crate) struct MeasureFlowArgs {
    /// Folder of the sample flows
    #[arg(default_value = "examples/flows", value_name = "FOLDER")]
    pub(crate) project: PathBuf,
    /// Samples to run
    #[arg(long = "sample", value_delimiter = ',', default_value = "1,2b,3,4,5,files,open,buffers", value_name = "N,N", value_parser = FLOW_SAMPLES)]
    pub(crate) samples: Vec<String>,
    /// Seconds of each run
    #[arg(long, default_value_t = 2.0, value_name = "N", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Numbers of applications that send requests
    #[arg(long, value_delimiter = ',', default_value = "1,5", value_name = "N,N", value_parser = at_once)]
    pub(crate) applications: Vec<usize>,
    /// Also run samples 2b to 5 over AMQP, with a connection for each application
    #[arg(long)]
    pub(crate) amqp: bool,
    /// Additional instances of the flows
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) instances: u32,
    /// Folder in which the run creates one for its data and removes it [default: the system's for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Write the 65,145 records of the samples to a file instead, 32 bytes each
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "report", "baseline"])]
    pub(crate) write_records: Option<PathBuf>,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

/// Arguments of `quayline measure gateway`.
#[derive(Debug, clap::Args)]
pub(crate) struct MeasureGatewayArgs {
    /// Folder of the dealership
    #[arg(default_value = "examples/dealership", value_name = "FOLDER")]
    pub(crate) project: PathBuf,
    /// Seconds to measure in each run
    #[arg(long, default_value_t = 5.0, value_name = "N", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Numbers of keep-alive clients with 500 ms think time
    #[arg(long, value_delimiter = ',', default_value = "100,200,300,400,500", value_name = "N,N", value_parser = at_once)]
    pub(crate) clients: Vec<usize>,
    /// Run only the saturated comparison with static bytes
    #[arg(long)]
    pub(crate) saturated: bool,
    /// Run everything briefly as a test: few clients, half a second each
    #[arg(long)]
    pub(crate) short: bool,
    /// Files of the report, and the earlier run to compare with.
    #[command(flatten)]
    pub(crate) report: MeasuredArgs,
}

/// Propose a service for a copybook.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceArgs {
    /// What is done.
    #[command(subcommand)]
    pub(crate) what: ServiceCommand,
}

/// What is done with services.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ServiceCommand {
    /// Write a service file for a copybook, and print a table of its fields
    New(ServiceNewArgs),
}

/// Arguments of `quayline service new`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceNewArgs {
    /// Copybook of the program, or its source
    #[arg(value_name = "COPYBOOK")]
    pub(crate) copybook: PathBuf,
    /// Record description, if the copybook has several
    #[arg(long, value_name = "NAME")]
    pub(crate) record: Option<String>,
    /// Record of a parameter of the program, in the order of USING; may occur more than once
    ///
    /// By default, the source of a program says so in PROCEDURE DIVISION USING.
    #[arg(long = "parameter", value_name = "NAME", conflicts_with = "record")]
    pub(crate) parameters: Vec<String>,
    /// Code page of the record; ascii for a GnuCOBOL program
    #[arg(long, default_value = "ascii", value_name = "PAGE")]
    pub(crate) encoding: String,
    /// Compiler to follow: ibm, gnucobol or microfocus [default: gnucobol; ibm for an EBCDIC page]
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// Change a limit: NAME=N, such as fields=200K
    #[arg(long, value_name = "NAME=N", long_help = super::LIMIT_LONG_HELP)]
    pub(crate) limit: Vec<super::LimitArg>,
    /// Service file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
