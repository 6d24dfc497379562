//! `quayline validate`: validates interchanges, and writes acknowledgments.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use quayline_charset::Charset;
use quayline_convert::{
    AcknowledgmentFile, AcknowledgmentTarget, ConvertError, Validation, ValidationReport, Verdict, only_standard,
};
use quayline_core::{Finding, Limits, Named as _};
use quayline_edi::acknowledge::{AcknowledgmentOptions, AcknowledgmentTally, Stamp};
use quayline_edi::guide::GuideSet;
use quayline_edi::{CharacterRules, CountedNumbers, Rules, ValidationLevel};
use quayline_project::read_guides_and_files;
use serde::Serialize;

use crate::apart::Apart;
use crate::args::{DecompressArg, LimitArg, ValidateArgs};
use crate::cache::cache;
use crate::console::{Console, shown};
use crate::convert::{Bar, check_interchanges};
use crate::exit::{Exit, Stop, argument};
use crate::interrupt;
use crate::memory;
use crate::named::edi_charset_named;
use crate::render::{count_of, finding_json, finding_text, grouped};

/// Checks each file in turn.
pub(crate) fn run(args: &ValidateArgs, console: &Console) -> Result<Exit, Stop> {
    memory::give_large_blocks_back();
    let limits = Limits { findings_max: args.max_findings, ..LimitArg::limits(&args.limit) };
    let (guides, files) = guides(args, &limits)?;
    check(args, &files)?;
    let charset = args.encoding.as_deref().map(edi_charset_named).transpose()?;
    let stop = interrupt::stop_flag().map_err(Stop::from)?;
    let mut acknowledgment = acknowledgment(args)?;
    let to_stdout = args.ack.is_some() && output(args).is_none();
    let mut printer = Printer::new(console, to_stdout)?;
    let mut exit = Exit::Done;
    for input in &args.inputs {
        let report =
            match validate(input, (args, charset), &guides, &limits, &stop, acknowledgment.as_mut(), &mut printer) {
                Ok(report) => report,
                Err(ConvertError::ClosedPipe) => return Err(Stop::ClosedPipe),
                Err(error) => {
                    printer.flush().map_err(Stop::from)?;
                    return Ok(ended(&error, &stop, console));
                }
            };
        printer.flush().map_err(Stop::from)?;
        if to_stdout && printer.begun {
            console.something_was_said();
        }
        tell(input, &report, args, &mut printer, console)?;
        if report.verdict() == Verdict::Errors {
            exit = Exit::Rejected;
        }
    }
    if let Some(file) = acknowledgment {
        match file.commit() {
            Ok(tally) => tell_acknowledgment(&tally, args, &mut printer, console)?,
            Err(ConvertError::ClosedPipe) => return Err(Stop::ClosedPipe),
            Err(error) => return Ok(ended(&error, &stop, console)),
        }
    }
    printer.flush().map_err(Stop::from)?;
    Ok(exit)
}

/// Reports a run that did not complete.
fn ended(error: &ConvertError, stop: &AtomicBool, console: &Console) -> Exit {
    let findings = error.findings().0;
    console.findings(&findings);
    if stop.load(std::sync::atomic::Ordering::Relaxed) { Exit::Interrupted } else { Exit::of_findings(&findings) }
}

fn check(args: &ValidateArgs, guides: &[PathBuf]) -> Result<(), Stop> {
    if args.inputs.iter().filter(|input| *input == Path::new("-")).count() > 1 {
        return Err(argument("standard input can be read once only").hint("name `-` once").into());
    }
    let mut apart = Apart::default();
    args.inputs.iter().chain(&args.guide).chain(guides).for_each(|file| apart.reads(file));
    output(args).map_or(Ok(()), |output| apart.writes(output))
}

fn output(args: &ValidateArgs) -> Option<&Path> {
    args.ack_output.as_deref().filter(|path| *path != Path::new("-"))
}

/// Reads the guides that the arguments name. Returns them with their files.
fn guides(args: &ValidateArgs, limits: &Limits) -> Result<(Option<Arc<GuideSet>>, Vec<PathBuf>), Stop> {
    if args.guide.is_empty() {
        return Ok((None, Vec::new()));
    }
    if args.level == Some(ValidationLevel::Envelope) {
        let finding = argument("--guide has no effect with --level envelope, which checks only envelopes");
        let hint = "omit --guide to check only envelopes, or omit --level to check by the guide";
        return Err(finding.hint(hint).into());
    }
    let (set, files) = read_guides_and_files(&args.guide, limits, cache().as_deref())?;
    Ok((Some(Arc::new(set)), files))
}

fn acknowledgment(args: &ValidateArgs) -> Result<Option<AcknowledgmentFile>, Stop> {
    let Some(which) = args.ack else { return Ok(None) };
    let stamp = match &args.ack_time {
        Some(text) => Stamp::new(&text[..8], &text[8..]).expect("the arguments were checked"),
        None => Stamp::from_unix(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())),
    };
    let mut options = AcknowledgmentOptions::by_name(which.kind(), stamp).expect("a name that it knows");
    options.numbers =
        CountedNumbers { interchange: args.ack_control, group: args.ack_control, ..CountedNumbers::default() };
    let target = match output(args) {
        Some(path) => AcknowledgmentTarget::File(path.to_owned()),
        None => {
            let stdout = io::stdout().as_fd().try_clone_to_owned().map_err(Stop::from)?;
            AcknowledgmentTarget::Stream(Box::new(BufWriter::new(File::from(stdout))))
        }
    };
    match AcknowledgmentFile::create(target, options) {
        Ok(file) => Ok(Some(file.only(only_standard(which.kind(), argument)))),
        Err(error) => Err(error.findings().into()),
    }
}

/// Converts the error of an input that cannot be opened.
fn stopped(stop: Stop) -> ConvertError {
    match stop {
        Stop::Findings(findings) => ConvertError::Refused(findings),
        Stop::ClosedPipe => ConvertError::ClosedPipe,
    }
}

fn validate(
    input: &Path,
    (args, charset): (&ValidateArgs, Option<Charset>),
    guides: &Option<Arc<GuideSet>>,
    limits: &Limits,
    stop: &Arc<AtomicBool>,
    acknowledgment: Option<&mut AcknowledgmentFile>,
    printer: &mut Printer,
) -> Result<ValidationReport, ConvertError> {
    let opened = crate::input::open(input, DecompressArg::Auto).map_err(stopped)?;
    check_interchanges(input, &opened.head, "validate")?;
    let name = if input == Path::new("-") { "<stdin>".to_owned() } else { shown(input) };
    let source = opened.into_input(input);
    let progress = if args.no_progress || args.json { None } else { Bar::on_terminal() };
    let validation = Validation {
        name: name.into(),
        input: source,
        rules: if args.strict { Rules::Strict } else { Rules::Lenient },
        guides: guides.clone(),
        level: level_of(args),
        characters: CharacterRules::Checked(charset),
        lanes: usize::from(args.jobs),
        limits: limits.clone(),
        cancel: Arc::clone(stop),
        progress: progress.map(|bar| Box::new(bar) as Box<dyn quayline_convert::Progress>),
    };
    validation.run(acknowledgment, &mut |finding| printer.finding(finding))
}

/// Sums up one file.
fn tell(
    input: &Path,
    report: &ValidationReport,
    args: &ValidateArgs,
    printer: &mut Printer,
    console: &Console,
) -> Result<(), Stop> {
    let name = if input == Path::new("-") { "<stdin>".to_owned() } else { shown(input) };
    if console.json() {
        let wire = ReportWire::of(&name, report);
        let line = serde_json::to_string(&wire).expect("a report has string keys and plain values");
        printer.line(&line).map_err(Stop::from)?;
        return Ok(());
    }
    let mut text = format!(
        "{name}: {} in {}, {}: ",
        count_of(report.transactions, "transaction"),
        count_of(report.interchanges, "interchange"),
        checked(report, level_of(args))
    );
    match report.verdict() {
        Verdict::Good => text.push_str("no findings"),
        _ => {
            text.push_str(&format!("{}, {}", count_of(report.errors, "error"), count_of(report.warnings, "warning")));
            if report.transactions_bad > 0 {
                let bad = grouped(report.transactions_bad);
                text.push_str(&format!(", {bad} of the transactions with errors"));
            }
        }
    }
    let unguided = args.guide.is_empty() && report.transactions_by_guide < report.transactions;
    if let (Some(asked), true) = (args.level.filter(|level| *level != ValidationLevel::Envelope), unguided) {
        let name = asked.name();
        text.push_str(&format!("\n--level {name} looks at guides, and none is given: name one with --guide"));
    }
    if report.unreported > 0 {
        let unreported = count_of(report.unreported, "finding");
        text.push_str(&format!("\nnot shown: {unreported} more than --max-findings {}", args.max_findings));
    }
    if report.errors + report.warnings > 1 {
        for (code, count) in &report.findings_by_code {
            text.push_str(&format!("\n  {code} {}", grouped(*count)));
        }
    }
    if args.stats {
        let cpu = report.cost.process.cpu.as_secs_f64();
        let rate = if cpu > 0.0 { report.bytes as f64 / 1e6 / cpu } else { 0.0 };
        text.push_str(&format!(
            "\n{} bytes, {:.3} s, {cpu:.3} s CPU, {rate:.0} MB a CPU second",
            grouped(report.bytes),
            report.cost.wall.as_secs_f64()
        ));
        if let Some(bytes) = report.cost.process.resident_bytes_max {
            text.push_str(&format!(", {:.1} MB of memory at most", bytes as f64 / 1e6));
        }
    }
    console.paragraph(&text);
    Ok(())
}

fn level_of(args: &ValidateArgs) -> ValidationLevel {
    args.level.unwrap_or(ValidationLevel::Rules)
}

/// Describes the checks of the transactions. Acknowledgments have built-in guides, so some may be validated although no guide was named.
fn checked(report: &ValidationReport, level: ValidationLevel) -> String {
    let left_out = match level {
        ValidationLevel::Envelope => return "envelopes checked".to_owned(),
        ValidationLevel::Guide => " without notes and rules",
        ValidationLevel::Notes => " without rules",
        ValidationLevel::Rules => "",
    };
    let by_guide = format!("checked by {}{left_out}", guides_named(report));
    match report.transactions - report.transactions_by_guide {
        0 if report.transactions > 0 => by_guide,
        rest if rest == report.transactions => "envelopes checked".to_owned(),
        rest => format!("{} {by_guide}, {} by envelope only", grouped(report.transactions_by_guide), grouped(rest)),
    }
}

/// Names the guides, because another guide may give another verdict.
fn guides_named(report: &ValidationReport) -> String {
    const SHOWN: usize = 5;
    let names: Vec<&str> = report.guides.iter().take(SHOWN).map(|(name, _)| name.as_str()).collect();
    let more = report.guides.len() - names.len();
    let word = if report.guides.len() == 1 { "guide" } else { "guides" };
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{word} {}{more}", names.join(", "))
}

fn tell_acknowledgment(
    tally: &AcknowledgmentTally,
    args: &ValidateArgs,
    printer: &mut Printer,
    console: &Console,
) -> Result<(), Stop> {
    if console.json() {
        let wire = AcknowledgmentWire::of(tally, output(args));
        let line = serde_json::to_string(&wire).expect("a tally has string keys and plain values");
        return printer.line(&line).map_err(Stop::from);
    }
    let to = output(args).map_or_else(String::new, |path| format!(" in {}", shown(path)));
    if tally.written == 0 {
        console.paragraph(&format!("nothing was to be acknowledged{to}"));
        return Ok(());
    }
    let with = tally.transactions_rejected_with;
    let accepted = tally.transactions - tally.transactions_rejected - with;
    let mut text = format!(
        "{} acknowledged{to}: {} accepted, {} rejected",
        count_of(tally.transactions, "transaction"),
        grouped(accepted),
        grouped(tally.transactions_rejected)
    );
    if with > 0 {
        text.push_str(&format!(", {} rejected with their group or interchange", grouped(with)));
    }
    if tally.groups_rejected > 0 {
        text.push_str(&format!(", {} rejected", count_of(tally.groups_rejected, "group")));
    }
    if tally.interchanges_rejected > 0 {
        text.push_str(&format!(", {} rejected", count_of(tally.interchanges_rejected, "interchange")));
    }
    console.paragraph(&text);
    Ok(())
}

/// Prints findings to standard output, or to standard error if the acknowledgment goes to standard output.
struct Printer {
    out: BufWriter<Box<dyn Write + Send>>,
    json: bool,
    color: bool,
    begun: bool,
}

impl Printer {
    fn new(console: &Console, acknowledgment_on_stdout: bool) -> Result<Self, Stop> {
        let (out, color): (Box<dyn Write + Send>, bool) = if acknowledgment_on_stdout {
            (Box::new(io::stderr()), console.color_stderr())
        } else {
            (Box::new(io::stdout()), console.color_stdout())
        };
        Ok(Printer { out: BufWriter::new(out), json: console.json(), color, begun: false })
    }

    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        if self.json {
            return self.line(&finding_json(finding));
        }
        if core::mem::replace(&mut self.begun, true) {
            self.out.write_all(b"\n")?;
        }
        let text = finding_text(finding, self.color);
        self.line(&text)
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.write_all(b"\n")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Findings of one file, `quayline.validation/1` in docs/reference/json.md.
#[derive(Serialize)]
struct ReportWire<'a> {
    schema: &'static str,
    file: &'a str,
    good: bool,
    bytes: u64,
    interchanges: u64,
    groups: u64,
    transactions: u64,
    transactions_bad: u64,
    transactions_by_guide: u64,
    guides: BTreeMap<&'a str, u64>,
    errors: u64,
    warnings: u64,
    unreported: u64,
    findings_by_code: BTreeMap<&'a str, u64>,
    wall_s: f64,
    cpu_s: f64,
}

impl<'a> ReportWire<'a> {
    fn of(file: &'a str, report: &'a ValidationReport) -> Self {
        ReportWire {
            schema: "quayline.validation/1",
            file,
            good: report.verdict() != Verdict::Errors,
            bytes: report.bytes,
            interchanges: report.interchanges,
            groups: report.groups,
            transactions: report.transactions,
            transactions_bad: report.transactions_bad,
            transactions_by_guide: report.transactions_by_guide,
            guides: report.guides.iter().map(|(name, transactions)| (name.as_str(), *transactions)).collect(),
            errors: report.errors,
            warnings: report.warnings,
            unreported: report.unreported,
            findings_by_code: report.findings_by_code.iter().map(|(code, count)| (code.0, *count)).collect(),
            wall_s: report.cost.wall.as_secs_f64(),
            cpu_s: report.cost.process.cpu.as_secs_f64(),
        }
    }
}

/// Written acknowledgment, `quayline.acknowledgment/1` in docs/reference/json.md.
#[derive(Serialize)]
struct AcknowledgmentWire {
    schema: &'static str,
    output: Option<String>,
    written: u64,
    interchanges: u64,
    interchanges_rejected: u64,
    groups: u64,
    groups_rejected: u64,
    transactions: u64,
    transactions_with_errors: u64,
    transactions_rejected: u64,
    transactions_rejected_with: u64,
    unreported: u64,
}

impl AcknowledgmentWire {
    fn of(tally: &AcknowledgmentTally, output: Option<&Path>) -> Self {
        AcknowledgmentWire {
            schema: "quayline.acknowledgment/1",
            output: output.map(shown),
            written: tally.written,
            interchanges: tally.interchanges,
            interchanges_rejected: tally.interchanges_rejected,
            groups: tally.groups,
            groups_rejected: tally.groups_rejected,
            transactions: tally.transactions,
            transactions_with_errors: tally.transactions_with_errors,
            transactions_rejected: tally.transactions_rejected,
            transactions_rejected_with: tally.transactions_rejected_with,
            unreported: tally.unreported,
        }
    }
}
