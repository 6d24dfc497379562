//! Code page and framing of a data file, proposed with evidence. Nothing is decided here.

use std::path::Path;

use quayline_charset::Charset;
use quayline_cobol::ShortRecord;
use quayline_core::{Finding, Named as _};
use quayline_frame::FramingSpec;
use quayline_infer::{CharsetProposal, Fit, FramingProposal, RecordSample};
use serde::Serialize;

use super::fit::{self, FitWire};
use super::looks::Looks;
use super::print_json;
use super::sample::Sample;
use crate::args::{FromFormat, InspectArgs};
use crate::console::{Console, shown, write_stdout};
use crate::convert::source_format;
use crate::copybook;
use crate::exit::{Exit, Stop};
use crate::input::{HEAD_BYTES, uncompressed_name};
use crate::named::{charset_named, framing_named};
use crate::render::{FindingWire, Paint, Style, bytes_text, grouped};

/// Proposals shown of each kind.
const SHOWN_MAX: usize = 3;
/// Prints the proposals and, with a copybook, whether it matches.
pub(crate) fn propose(sample: &Sample, args: &InspectArgs, console: &Console) -> Result<Exit, Stop> {
    let copybook = args.copybook.as_deref().map(|path| copybook::read(path, &args.reading.source)).transpose()?;
    let layout = match &copybook {
        Some(described) => {
            let (layout, warnings) = described.one(args.reading.record.as_deref())?;
            console.findings(&warnings);
            Some(layout)
        }
        None => None,
    };
    let layout = layout.as_ref();
    let record_length = layout.map(|layout| layout.length_max);
    let name = shown(&args.file);
    let looked_at = RecordSample { name: &name, bytes: &sample.bytes, file_len: sample.file_len };
    let charsets = charsets(looked_at, args.encoding.as_deref())?;
    let framings = framings(looked_at, args.framing.as_deref(), record_length)?;
    let mut fits = match layout {
        Some(layout) => Fit::try_all(looked_at, layout, &charsets, &framings)?,
        None => Vec::new(),
    };
    fits.truncate(SHOWN_MAX);
    let best = fits.first().filter(|fit| fit.decoded > 0);
    let charset = best.map(|fit| fit.charset).or(charsets.first().map(|proposal| proposal.charset));
    let framing = best.map(|fit| fit.framing).or(framings.first().map(|proposal| proposal.spec));
    let short = best.and_then(|fit| fit.short);
    // Options of records mean that the file has records.
    let says_records =
        args.is.is_some() || args.copybook.is_some() || args.encoding.is_some() || args.framing.is_some();
    let looks = if says_records { None } else { Looks::of(sample) };
    let command = match looks {
        Some(looks) => looks.command(quoted(&args.file)),
        None => command_line(args, sample, charset, framing.as_ref(), short),
    };
    let misfit = layout.zip(fits.first()).and_then(|(layout, fit)| fit.misfit(looked_at, layout));
    let answer = Answer {
        args,
        sample,
        looks,
        charsets: &charsets,
        framings: &framings,
        layout,
        fits: &fits,
        misfit: misfit.as_ref(),
        command: &command,
    };
    if console.json() {
        print_json(&answer.wire())?
    } else {
        write_stdout(answer.text(console.color_stdout()).as_bytes())?
    }
    Ok(Exit::Done)
}

fn charsets(sample: RecordSample<'_>, named: Option<&str>) -> Result<Vec<CharsetProposal>, Stop> {
    Ok(match named {
        Some(name) => vec![CharsetProposal::named(charset_named(name)?)],
        None => CharsetProposal::of(sample, SHOWN_MAX),
    })
}

fn framings(
    sample: RecordSample<'_>,
    named: Option<&str>,
    record_length: Option<usize>,
) -> Result<Vec<FramingProposal>, Stop> {
    Ok(match named {
        Some(text) => vec![FramingProposal::named(framing_named(text, record_length)?)],
        None => FramingProposal::of(sample, record_length, SHOWN_MAX),
    })
}

struct Answer<'a> {
    args: &'a InspectArgs,
    sample: &'a Sample,
    looks: Option<Looks>,
    charsets: &'a [CharsetProposal],
    framings: &'a [FramingProposal],
    layout: Option<&'a quayline_cobol::layout::Layout>,
    fits: &'a [Fit],
    misfit: Option<&'a Finding>,
    command: &'a [String],
}

impl Answer<'_> {
    fn text(&self, color: bool) -> String {
        let paint = Paint::new(color);
        let name = shown(&self.args.file);
        let length =
            self.sample.file_len.map_or_else(|| "a stream".to_owned(), |len| format!("{} bytes", grouped(len)));
        let looked = if self.sample.is_whole() {
            String::new()
        } else {
            format!(", of which the first {} were read", grouped(self.sample.bytes.len() as u64))
        };
        let mut text = format!("{}  {length}{looked}\n", paint.text(Style::Strong, &name));
        if self.sample.bytes.is_empty() {
            text.push_str("\nthe file is empty\n");
            return text;
        }
        if let Some(looks) = self.looks {
            text.push_str(&format!(
                "\nthis looks like {}: {}\n",
                looks.words(),
                looks.advice(&quoted(&self.args.file))
            ));
        }
        text.push_str(&format!("\n{}\n", paint.text(Style::Faint, "code page")));
        for proposal in self.charsets {
            let score = proposal.score.map_or_else(String::new, |score| format!("  {score} of 100"));
            text.push_str(&format!("  {}{score}\n", proposal.charset.name()));
            let alike: Vec<&str> = proposal.alike.iter().map(|charset| charset.name()).collect();
            if !alike.is_empty() {
                text.push_str(&format!("    - the text of this sample reads the same in {}\n", alike.join(", ")));
            }
            push_evidence(&mut text, &proposal.evidence);
        }
        if self.charsets.is_empty() {
            text.push_str("  none: too few bytes are text; the file may be compressed, encrypted or binary\n");
        }
        text.push_str(&format!("\n{}\n", paint.text(Style::Faint, "framing")));
        for proposal in self.framings {
            let score = proposal.score.map_or_else(String::new, |score| format!("  {} of 100", hundred(score)));
            let records =
                if proposal.records > 0 { format!(", {} records", grouped(proposal.records)) } else { String::new() };
            text.push_str(&format!("  {}{score}{records}\n", proposal.spec));
            push_evidence(&mut text, &proposal.evidence);
        }
        if self.has_lines_of_cr() {
            let lead = if self.framings.is_empty() { "  none: " } else { "  " };
            text.push_str(lead);
            text.push_str(
                "its lines end in CR (0x0D) alone, which no framing reads; `tr '\\r' '\\n'` makes lines of them\n",
            );
        } else if self.framings.is_empty() {
            text.push_str("  none: no framing explains the bytes; ask the sender for RECFM and LRECL\n");
        }
        if let Some(layout) = self.layout {
            text.push_str(&format!("\n{}\n", paint.text(Style::Faint, "copybook")));
            text.push_str(&fit::size_text(layout, self.sample.file_len));
            for fit in self.fits {
                text.push_str(&fit::fit_text(fit));
            }
            if let Some(finding) = self.misfit {
                text.push_str(&fit::finding_lines("likely", finding));
            }
        }
        if !self.command.is_empty() {
            text.push_str(&format!("\n{}\n  {}\n", paint.text(Style::Faint, "try"), self.command.join(" ")));
        }
        text
    }

    /// Whether the sample is text with CR, and without LF.
    fn has_lines_of_cr(&self) -> bool {
        let text = self.sample.text();
        text.is_some_and(|text| text.contains('\r') && !text.contains('\n'))
    }

    fn wire(&self) -> ProposalWire<'_> {
        let code_pages = self.charsets.iter().map(|proposal| CodePageWire {
            name: proposal.charset.name(),
            score: proposal.score,
            alike: proposal.alike.iter().map(|charset| charset.name()).collect(),
            evidence: &proposal.evidence,
        });
        let framings = self.framings.iter().map(|proposal| FramingWire {
            name: proposal.spec.to_string(),
            score: proposal.score.map(hundred),
            records: proposal.records,
            evidence: &proposal.evidence,
        });
        ProposalWire {
            schema: "quayline.proposal/1",
            file: shown(&self.args.file),
            bytes: self.sample.file_len,
            looked_at: self.sample.bytes.len(),
            looks_like: self.looks.map(Looks::words),
            code_pages: code_pages.collect(),
            framings: framings.collect(),
            copybook: self.layout.map(|layout| CopybookWire {
                record: copybook::name(layout),
                length_min: layout.length_min,
                length_max: layout.length_max,
                fits: self.fits.iter().map(FitWire::of).collect(),
                misfit: self.misfit.map(FindingWire::of),
            }),
            try_: self.command,
        }
    }
}

/// Proposals for a data file, `quayline.proposal/1` in docs/reference/json.md.
#[derive(Serialize)]
struct ProposalWire<'a> {
    schema: &'static str,
    file: String,
    bytes: Option<u64>,
    looked_at: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    looks_like: Option<&'static str>,
    code_pages: Vec<CodePageWire<'a>>,
    framings: Vec<FramingWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copybook: Option<CopybookWire<'a>>,
    #[serde(rename = "try")]
    try_: &'a [String],
}

#[derive(Serialize)]
struct CodePageWire<'a> {
    name: &'static str,
    score: Option<u8>,
    alike: Vec<&'static str>,
    evidence: &'a [String],
}

#[derive(Serialize)]
struct FramingWire<'a> {
    name: String,
    score: Option<u8>,
    records: u64,
    evidence: &'a [String],
}

#[derive(Serialize)]
struct CopybookWire<'a> {
    record: &'a str,
    length_min: usize,
    length_max: usize,
    fits: Vec<FitWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    misfit: Option<FindingWire<'a>>,
}

/// Converts a score of up to 1 to one of up to 100.
fn hundred(score: f64) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100 by the clamp")]
    let whole = (score * 100.0).round().clamp(0.0, 100.0) as u8;
    whole
}

fn push_evidence(text: &mut String, evidence: &[String]) {
    for sentence in evidence {
        text.push_str(&format!("    - {sentence}\n"));
    }
}

/// Returns a convert command to try, as words quoted for a shell.
fn command_line(
    args: &InspectArgs,
    sample: &Sample,
    charset: Option<Charset>,
    framing: Option<&FramingSpec>,
    short: Option<ShortRecord>,
) -> Vec<String> {
    let mut words = vec!["quayline".to_owned(), "convert".to_owned(), quoted(&args.file)];
    // The name or the content may be of another format.
    let name = uncompressed_name(&args.file, sample.compression);
    if source_format(&name, &sample.bytes[..sample.bytes.len().min(HEAD_BYTES)]) != FromFormat::Record {
        words.extend(["--from".to_owned(), "record".to_owned()]);
    }
    words.push("--copybook".to_owned());
    words.push(args.copybook.as_deref().map_or_else(|| "COPYBOOK.cpy".to_owned(), quoted));
    if let Some(record) = &args.reading.record {
        words.extend(["--record".to_owned(), quoted(Path::new(record))]);
    }
    if args.reading.source.dialect.name() != "ibm" {
        words.extend(["--dialect".to_owned(), args.reading.source.dialect.name().to_owned()]);
    }
    for setting in &args.reading.source.set {
        words.extend(["--set".to_owned(), quoted(Path::new(setting))]);
    }
    for folder in &args.reading.source.include {
        words.extend(["-I".to_owned(), quoted(folder)]);
    }
    words.push("--encoding".to_owned());
    words.push(charset.map_or_else(|| "CODE-PAGE".to_owned(), |charset| charset.name().to_lowercase()));
    words.push("--framing".to_owned());
    words.push(framing.map_or_else(|| "FRAMING".to_owned(), ToString::to_string));
    if let Some(short) = short {
        words.extend(["--short".to_owned(), short.name().to_owned()]);
    }
    let out = args
        .file
        .file_stem()
        .filter(|stem| *stem != "-")
        .map_or_else(|| "out.jsonl".into(), |stem| Path::new(stem).with_extension("jsonl"));
    // The output is in the current folder, and the input may be there too.
    let out = if args.file.file_name() == Some(out.as_os_str()) { out.with_extension("out.jsonl") } else { out };
    words.extend(["-o".to_owned(), quoted(&out)]);
    words
}

/// Quotes a path for a shell if it contains special characters.
fn quoted(path: &Path) -> String {
    let text = shown(path);
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Formats a length such as `300 bytes`, for the size line of a copybook.
pub(super) fn length_text(min: usize, max: usize) -> String {
    if min == max { bytes_text(max) } else { format!("{} to {}", grouped(min as u64), bytes_text(max)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_quoted_for_the_shell() {
        assert_eq!(quoted(Path::new("a/b-c.dat")), "a/b-c.dat");
        assert_eq!(quoted(Path::new("a b.dat")), "'a b.dat'");
        assert_eq!(quoted(Path::new("it's")), "'it'\\''s'");
    }
}
