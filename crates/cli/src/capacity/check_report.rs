//! `quayline check-report`: the operational laws applied to figures that others print.

use quayline_capacity::check::{FaultKind, Printed, ReportFault, Statement, check};
use quayline_core::{Fault, Finding};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{CAP_CALCULATED, CAP_CONTRADICTION, CAP_FILE, print_json, read};
use crate::args::CheckReportArgs;
use crate::console::{Console, write_stdout};
use crate::exit::{Exit, Stop};
use crate::render::count_of;

/// Checks every figure of a file.
pub(crate) fn check_report(args: &CheckReportArgs, console: &Console) -> Result<Exit, Stop> {
    let (mut file, figures): (_, File) = read(&args.file)?;
    let mut wires = Vec::new();
    let mut findings = Vec::new();
    for spanned in &figures.figure {
        let figure = spanned.get_ref();
        let statement = match figure.statement() {
            Ok(statement) => statement,
            Err(message) => {
                file.find(CAP_FILE, message, spanned, "docs/reference/capacity.md lists the keys of each law");
                continue;
            }
        };
        if let Some(fault) = check(&statement) {
            let mut place = file.text.place(&spanned.span());
            place.column = None;
            place.line_text = None;
            findings.push(finding(figure, &fault).at(place));
            wires.push(FaultWire::of(figure, &fault));
        }
    }
    if !file.findings.is_empty() {
        return Err(quayline_core::Findings(file.findings).into());
    }
    let exit = if findings.is_empty() { Exit::Done } else { Exit::Rejected };
    if args.json {
        print_json(&Wire { schema: "quayline.check-report/1", figures: figures.figure.len(), faults: wires })?;
    } else {
        let checked = count_of(figures.figure.len() as u64, "figure");
        let faults = count_of(findings.len() as u64, "fault");
        write_stdout(format!("{checked} checked, {faults}\n").as_bytes())?;
    }
    console.findings(&findings);
    Ok(exit)
}

fn finding(figure: &FigureWire, fault: &ReportFault) -> Finding {
    let place = figure.place.as_deref().unwrap_or("the report");
    let message = format!("{place}: {}: {}", fault.kind.name(), detail(fault));
    let finding = if fault.kind.is_contradiction() {
        Finding::error(CAP_CONTRADICTION, Fault::Sender, message)
    } else {
        Finding::warning(CAP_CALCULATED, Fault::Sender, message)
    };
    finding.hint(format!("{} [{}]", fault.kind.remedy(), fault.kind.law()))
}

fn detail(fault: &ReportFault) -> String {
    let ReportFault { kind, printed, least, most } = fault;
    match kind {
        FaultKind::ImpossibleTriple => {
            format!(
                "users, throughput and think time leave {:.4} s for a response, at most {:.4} s with rounding",
                printed.max(0.0),
                most
            )
        }
        FaultKind::ScaledColumn => format!("each row of the second column is {least} times the first"),
        FaultKind::TwoValues => format!("{printed} and {}", number((least + most) / 2.0)),
        _ if most - least <= 1e-9 * most.abs() => format!("printed {printed}, recomputed {}", number(*least)),
        _ => format!("printed {printed}, recomputed {} to {}", number(*least), number(*most)),
    }
}

/// Formats a number with six significant digits.
fn number(value: f64) -> String {
    let size = value.abs();
    let digits = if size >= 1e5 {
        0
    } else if size >= 1e3 {
        1
    } else if size >= 10.0 {
        3
    } else {
        5
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A file of figures.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    #[expect(dead_code, reason = "the title is for the reader of the file")]
    report: Option<String>,
    figure: Vec<Spanned<FigureWire>>,
}

/// A printed number. As text it keeps trailing zeros and thousands separators.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number, or a number in quotation marks")]
enum Number {
    Whole(i64),
    Decimal(f64),
    Text(String),
}

impl Number {
    fn printed(&self) -> Result<Printed, String> {
        let text = match self {
            Number::Whole(value) => value.to_string(),
            // With an exponent in the file, zeros at the end are not printed digits.
            Number::Decimal(value) if value.abs() >= 1e6 && value.fract() == 0.0 => format!("{value:e}"),
            Number::Decimal(value) => value.to_string(),
            Number::Text(text) => text.clone(),
        };
        Printed::parse(&text).ok_or_else(|| format!("\"{text}\" is not a number"))
    }

    fn exact(&self) -> Result<Printed, String> {
        self.printed().map(|printed| Printed::exact(printed.value))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FigureWire {
    place: Option<String>,
    law: Law,
    users: Option<Number>,
    think: Option<Number>,
    throughput: Option<Number>,
    response: Option<Number>,
    demand: Option<Number>,
    servers: Option<Number>,
    #[serde(default)]
    factors: Vec<Number>,
    #[serde(default)]
    settings: Vec<Number>,
    #[serde(default)]
    terms: Vec<Number>,
    #[serde(default)]
    values: Vec<Number>,
    #[serde(default)]
    first: Vec<Number>,
    #[serde(default)]
    second: Vec<Number>,
    numerator: Option<Number>,
    denominator: Option<Number>,
    base: Option<Number>,
    measured: Option<Number>,
    printed: Option<Number>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Law {
    Response,
    Product,
    Ratio,
    Sum,
    Same,
    Columns,
    Utilization,
    Little,
    Overhead,
}

impl FigureWire {
    fn statement(&self) -> Result<Statement, String> {
        Ok(match self.law {
            Law::Response => Statement::Response {
                users: need("users", &self.users)?.exact()?,
                think: need("think", &self.think)?.exact()?,
                throughput: need("throughput", &self.throughput)?.printed()?,
                response: self.response.as_ref().map(Number::printed).transpose()?,
            },
            Law::Product => {
                let mut factors = list("factors", &self.factors, 1)?;
                for setting in &self.settings {
                    factors.push(setting.exact()?);
                }
                Statement::Product { factors, printed: need("printed", &self.printed)?.printed()? }
            }
            Law::Ratio => Statement::Ratio {
                numerator: need("numerator", &self.numerator)?.printed()?,
                denominator: need("denominator", &self.denominator)?.printed()?,
                printed: need("printed", &self.printed)?.printed()?,
            },
            Law::Sum => Statement::Sum {
                terms: list("terms", &self.terms, 1)?,
                printed: need("printed", &self.printed)?.printed()?,
            },
            Law::Same => Statement::Same { values: list("values", &self.values, 2)? },
            Law::Columns => {
                Statement::Columns { first: list("first", &self.first, 2)?, second: list("second", &self.second, 2)? }
            }
            Law::Utilization => Statement::Utilization {
                throughput: need("throughput", &self.throughput)?.printed()?,
                demand: need("demand", &self.demand)?.printed()?,
                servers: self.servers.as_ref().map_or(Ok(Printed::exact(1.0)), Number::exact)?,
                printed: need("printed", &self.printed)?.printed()?,
            },
            Law::Little => Statement::Little {
                throughput: need("throughput", &self.throughput)?.printed()?,
                response: need("response", &self.response)?.printed()?,
                printed: need("printed", &self.printed)?.printed()?,
            },
            Law::Overhead => Statement::Overhead {
                base: need("base", &self.base)?.printed()?,
                measured: need("measured", &self.measured)?.printed()?,
                printed: need("printed", &self.printed)?.printed()?,
            },
        })
    }
}

fn need<'a>(key: &str, value: &'a Option<Number>) -> Result<&'a Number, String> {
    value.as_ref().ok_or_else(|| format!("`{key}` is missing"))
}

fn list(key: &str, values: &[Number], least: usize) -> Result<Vec<Printed>, String> {
    if values.len() < least {
        return Err(format!("`{key}` has {} numbers, expected at least {least}", values.len()));
    }
    values.iter().map(Number::printed).collect()
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    figures: usize,
    faults: Vec<FaultWire<'a>>,
}

#[derive(Serialize)]
struct FaultWire<'a> {
    place: Option<&'a str>,
    fault: &'static str,
    law: &'static str,
    printed: f64,
    least: f64,
    most: f64,
    contradiction: bool,
}

impl<'a> FaultWire<'a> {
    fn of(figure: &'a FigureWire, fault: &ReportFault) -> FaultWire<'a> {
        let ReportFault { kind, printed, least, most } = *fault;
        let (fault, law, contradiction) = (kind.name(), kind.law(), kind.is_contradiction());
        FaultWire { place: figure.place.as_deref(), fault, law, printed, least, most, contradiction }
    }
}
