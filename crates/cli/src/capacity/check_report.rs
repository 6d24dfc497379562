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
        let statement = match figure.statement(&Numbers(&file.text.text)) {
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

/// Reads the numbers of a file with this text.
struct Numbers<'t>(&'t str);

impl Numbers<'_> {
    fn printed(&self, number: &Spanned<Number>) -> Result<Printed, String> {
        let written = self.0.get(number.span()).unwrap_or_default();
        let text = match number.get_ref() {
            Number::Whole(value) => value.to_string(),
            // Only the text shows which digits a number with an exponent has.
            Number::Decimal(_) if written.contains(['e', 'E']) => written.replace('_', ""),
            Number::Decimal(value) => value.to_string(),
            Number::Text(text) => text.clone(),
        };
        Printed::parse(&text).ok_or_else(|| format!("\"{text}\" is not a number"))
    }

    fn exact(&self, number: &Spanned<Number>) -> Result<Printed, String> {
        self.printed(number).map(|printed| Printed::exact(printed.value))
    }

    fn list(&self, key: &str, values: &[Spanned<Number>], least: usize) -> Result<Vec<Printed>, String> {
        if values.len() < least {
            return Err(format!("`{key}` has {} numbers, expected at least {least}", values.len()));
        }
        values.iter().map(|number| self.printed(number)).collect()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FigureWire {
    place: Option<String>,
    law: Law,
    users: Option<Spanned<Number>>,
    think: Option<Spanned<Number>>,
    throughput: Option<Spanned<Number>>,
    response: Option<Spanned<Number>>,
    demand: Option<Spanned<Number>>,
    servers: Option<Spanned<Number>>,
    #[serde(default)]
    factors: Vec<Spanned<Number>>,
    #[serde(default)]
    settings: Vec<Spanned<Number>>,
    #[serde(default)]
    terms: Vec<Spanned<Number>>,
    #[serde(default)]
    values: Vec<Spanned<Number>>,
    #[serde(default)]
    first: Vec<Spanned<Number>>,
    #[serde(default)]
    second: Vec<Spanned<Number>>,
    numerator: Option<Spanned<Number>>,
    denominator: Option<Spanned<Number>>,
    base: Option<Spanned<Number>>,
    measured: Option<Spanned<Number>>,
    printed: Option<Spanned<Number>>,
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
    fn statement(&self, numbers: &Numbers<'_>) -> Result<Statement, String> {
        Ok(match self.law {
            Law::Response => Statement::Response {
                users: numbers.exact(need("users", &self.users)?)?,
                think: numbers.exact(need("think", &self.think)?)?,
                throughput: numbers.printed(need("throughput", &self.throughput)?)?,
                response: self.response.as_ref().map(|number| numbers.printed(number)).transpose()?,
            },
            Law::Product => {
                let mut factors = numbers.list("factors", &self.factors, 1)?;
                for setting in &self.settings {
                    factors.push(numbers.exact(setting)?);
                }
                Statement::Product { factors, printed: numbers.printed(need("printed", &self.printed)?)? }
            }
            Law::Ratio => Statement::Ratio {
                numerator: numbers.printed(need("numerator", &self.numerator)?)?,
                denominator: numbers.printed(need("denominator", &self.denominator)?)?,
                printed: numbers.printed(need("printed", &self.printed)?)?,
            },
            Law::Sum => Statement::Sum {
                terms: numbers.list("terms", &self.terms, 1)?,
                printed: numbers.printed(need("printed", &self.printed)?)?,
            },
            Law::Same => Statement::Same { values: numbers.list("values", &self.values, 2)? },
            Law::Columns => Statement::Columns {
                first: numbers.list("first", &self.first, 2)?,
                second: numbers.list("second", &self.second, 2)?,
            },
            Law::Utilization => Statement::Utilization {
                throughput: numbers.printed(need("throughput", &self.throughput)?)?,
                demand: numbers.printed(need("demand", &self.demand)?)?,
                servers: self.servers.as_ref().map_or(Ok(Printed::exact(1.0)), |number| numbers.exact(number))?,
                printed: numbers.printed(need("printed", &self.printed)?)?,
            },
            Law::Little => Statement::Little {
                throughput: numbers.printed(need("throughput", &self.throughput)?)?,
                response: numbers.printed(need("response", &self.response)?)?,
                printed: numbers.printed(need("printed", &self.printed)?)?,
            },
            Law::Overhead => Statement::Overhead {
                base: numbers.printed(need("base", &self.base)?)?,
                measured: numbers.printed(need("measured", &self.measured)?)?,
                printed: numbers.printed(need("printed", &self.printed)?)?,
            },
        })
    }
}

fn need<'a>(key: &str, value: &'a Option<Spanned<Number>>) -> Result<&'a Spanned<Number>, String> {
    value.as_ref().ok_or_else(|| format!("`{key}` is missing"))
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
