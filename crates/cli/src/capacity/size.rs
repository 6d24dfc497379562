//! `quayline size`: the smallest machine of a catalogue for a mix of workloads.

use quayline_capacity::fit::Exhaustion;
use quayline_capacity::{
    Bytes, CapacityUnits, Lack, Machine, PerMonth, PerSecond, Share, SizedWorkload, SizingAnswer, SizingQuestion,
    size as size_mix,
};
use quayline_core::{Fault, Finding};
use quayline_project::UserFile;
use quayline_report::{Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::questionnaire::{CostAnswers, Derived, RateAnswers};
use super::report::{basis_section, finish};
use super::{BasisWire, CAP_FILE, CAP_NO_MACHINE, OriginWire, print_json, read, refused};
use crate::args::SizeArgs;
use crate::console::{Console, write_stdout};
use crate::exit::{Exit, Stop};
use crate::quantity::Duration;

/// Bytes of a MiB and of a GB.
const MIB: f64 = 1_048_576.0;
const GB: f64 = 1e9;

/// Sizes the mix of a file.
pub(crate) fn size(args: &SizeArgs, console: &Console) -> Result<Exit, Stop> {
    let (mut text, file): (_, FileWire) = read(&args.file)?;
    let file = file.resolved(&mut text)?;
    let question = file.question();
    let estimate = size_mix(&question).map_err(|error| refused(&error))?;
    let basis = BasisWire::of(&estimate);
    let answer = Answer { file: &file, question: &question, answer: &estimate.value, basis };
    if args.json {
        print_json(&answer.wire())?;
    } else {
        write_stdout(answer.text().as_bytes())?;
    }
    let exit = finish(answer.report(), &args.report, console)?;
    if estimate.value.machine.is_some() {
        return Ok(exit);
    }
    let rating = estimate.value.rating.0;
    let message =
        format!("no machine of the catalogue fits: a rating of {rating:.1} or more is needed, with memory and disk");
    let finding = Finding::error(CAP_NO_MACHINE, Fault::Sender, message);
    console.findings(&[finding.hint("add larger machines, or lower the cost, the growth or the horizon")]);
    Ok(Exit::Rejected)
}

/// A sizing question.
struct File {
    target_percent: f64,
    horizon_months: f64,
    workload: Vec<Asked>,
    machine: Vec<MachineWire>,
}

/// A workload with its rate and cost, and how both follow from the answers of the file.
struct Asked {
    wire: WorkloadWire,
    rate: Derived,
    cost: Derived,
}

fn seventy() -> f64 {
    70.0
}

/// The file of a sizing question.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FileWire {
    /// Percent of the rating that the peak hour may use.
    #[serde(default = "seventy")]
    target_percent: f64,
    #[serde(default)]
    horizon_months: f64,
    workload: Vec<Spanned<WorkloadWire>>,
    machine: Vec<Spanned<MachineWire>>,
}

impl WorkloadWire {
    fn rate(&self) -> Result<Derived, String> {
        let answers = RateAnswers {
            rate: self.rate,
            per_hour: self.per_hour,
            users: self.users,
            active_percent: self.active_percent,
            per_user_minute: self.per_user_minute,
            records: self.records,
            window: self.window.map(|window| window.0),
        };
        answers.rate()
    }

    fn cost(&self) -> Result<Derived, String> {
        let adds_percent = &self.adds_percent;
        CostAnswers { cost: self.cost, metric: self.metric, cpu: self.cpu.map(|cpu| cpu.0), adds_percent }.cost()
    }
}

impl FileWire {
    /// Rates and costs of all workloads, or everything that is wrong with them.
    fn resolved(self, file: &mut UserFile) -> Result<File, Stop> {
        let mut workload = Vec::with_capacity(self.workload.len());
        for spanned in self.workload {
            let wire = spanned.get_ref();
            match (wire.rate(), wire.cost()) {
                (Ok(rate), Ok(cost)) => workload.push(Asked { rate, cost, wire: spanned.into_inner() }),
                (rate, cost) => {
                    let name = wire.name.clone();
                    for message in [rate.err(), cost.err()].into_iter().flatten() {
                        let message = format!("workload {name}: {message}");
                        file.find(CAP_FILE, message, &spanned, "docs/reference/capacity.md lists the ways to answer");
                    }
                }
            }
        }
        let mut machine = Vec::with_capacity(self.machine.len());
        for spanned in self.machine {
            let at = spanned.get_ref().rated_at_percent;
            if !(at > 0.0 && at <= 100.0) {
                let message = format!("`rated-at-percent` is {}, expected above 0 and at most 100", short(at));
                file.find(CAP_FILE, message, &spanned, "write the utilization at which the rating was stated");
            }
            machine.push(spanned.into_inner());
        }
        if !file.findings.is_empty() {
            return Err(quayline_core::Findings(std::mem::take(&mut file.findings)).into());
        }
        Ok(File { target_percent: self.target_percent, horizon_months: self.horizon_months, workload, machine })
    }
}

/// Formats a number with up to four significant decimals, without trailing zeros.
fn short(number: f64) -> String {
    if number.abs() >= 1e15 {
        return format!("{number:e}");
    }
    let digits = match number.abs() {
        size if size >= 100.0 => 1,
        size if size >= 0.1 || size == 0.0 => 4,
        size if size >= 1e-9 => 13,
        _ => return format!("{number:.3e}"),
    };
    let text = format!("{number:.digits$}");
    // Four significant digits of a small number.
    let first = text.find(|char: char| ('1'..='9').contains(&char)).unwrap_or(0);
    let text = if digits > 4 { &text[..text.len().min(first + 4)] } else { &text };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WorkloadWire {
    name: String,
    // Flattened answers would let unknown keys pass.
    rate: Option<f64>,
    per_hour: Option<f64>,
    users: Option<f64>,
    active_percent: Option<f64>,
    per_user_minute: Option<f64>,
    records: Option<f64>,
    window: Option<Duration>,
    cost: Option<f64>,
    metric: Option<f64>,
    cpu: Option<Duration>,
    #[serde(default)]
    adds_percent: Vec<f64>,
    #[serde(default)]
    growth_percent: f64,
    #[serde(default)]
    memory_mib: f64,
    #[serde(default)]
    disk_gb: f64,
    #[serde(default)]
    origin: OriginWire,
    /// Origin of the cost, in the user's words.
    source: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MachineWire {
    name: String,
    rating: f64,
    /// Percent of the machine at which its rating is stated.
    #[serde(default = "hundred")]
    rated_at_percent: f64,
    memory_mib: Option<f64>,
    disk_gb: Option<f64>,
}

fn hundred() -> f64 {
    100.0
}

impl File {
    fn question(&self) -> SizingQuestion {
        let workload = |Asked { wire, rate, cost }: &Asked| SizedWorkload {
            name: wire.name.clone(),
            rate: PerSecond(rate.value),
            cost: CapacityUnits(cost.value),
            growth: PerMonth(wire.growth_percent / 100.0),
            memory: Bytes(wire.memory_mib * MIB),
            disk: Bytes(wire.disk_gb * GB),
            origin: wire.origin.into(),
        };
        // A machine without memory or disk in the file is not judged by them.
        let machine = |wire: &MachineWire| Machine {
            name: wire.name.clone(),
            rating: CapacityUnits(wire.rating * 100.0 / wire.rated_at_percent),
            memory: Bytes(wire.memory_mib.map_or(f64::MAX, |memory| memory * MIB)),
            disk: Bytes(wire.disk_gb.map_or(f64::MAX, |disk| disk * GB)),
        };
        SizingQuestion {
            workloads: self.workload.iter().map(workload).collect(),
            catalogue: self.machine.iter().map(machine).collect(),
            target: Share::of_percent(self.target_percent),
            horizon_months: self.horizon_months,
        }
    }
}

struct Answer<'a> {
    file: &'a File,
    question: &'a SizingQuestion,
    answer: &'a SizingAnswer,
    basis: BasisWire,
}

impl Answer<'_> {
    fn text(&self) -> String {
        let SizingAnswer { now, then, rating, memory, disk, machine, utilization, exhausted, lacks } = self.answer;
        let mut text = format!("{:<24} {:>10} {:>10} {:>10} {:>10}  from\n", "workload", "tx/s", "cost", "now", "then");
        for (at, Asked { wire, rate, cost }) in self.file.workload.iter().enumerate() {
            let origin = quayline_capacity::Origin::from(wire.origin).name();
            let source =
                wire.source.as_deref().map_or_else(|| origin.to_owned(), |source| format!("{origin}: {source}"));
            text.push_str(&format!(
                "{:<24} {:>10} {:>10} {:>10.2} {:>10.2}  {source}\n",
                wire.name,
                short(rate.value),
                short(cost.value),
                now[at].0,
                then[at].0
            ));
            for (what, derived) in [("tx/s", rate), ("cost", cost)] {
                if let Some(from) = &derived.from {
                    text.push_str(&format!("  {what}: {from}\n"));
                }
            }
        }
        let target = self.file.target_percent;
        let months = self.file.horizon_months;
        text.push_str(&format!(
            "\nRating needed: {:.2}, for {target} % at the peak hour in {months} months\nMemory: {:.0} MiB; disk: {:.1} GB\n\n",
            rating.0,
            memory.0 / MIB,
            disk.0 / GB
        ));
        for (at, candidate) in self.question.catalogue.iter().enumerate() {
            let verdict = match lacks[at].as_slice() {
                [] if *machine == Some(at) => "chosen".to_owned(),
                [] => "larger than needed".to_owned(),
                lacks => format!("lacks {}", lacks.iter().map(|lack| lack_name(*lack)).collect::<Vec<_>>().join(", ")),
            };
            text.push_str(&format!("{:<24} {:>10}  {verdict}\n", candidate.name, candidate.rating.0));
        }
        if let Some((today, later)) = utilization {
            text.push_str(&format!("\nUtilization: {:.1} % now, {:.1} % then\n", today.percent(), later.percent()));
        }
        match exhausted {
            Some(Exhaustion::After { months }) => {
                text.push_str(&format!("The target is reached after {months:.1} months\n"))
            }
            Some(Exhaustion::Now) => text.push_str("The target is reached now\n"),
            Some(Exhaustion::Never) | None => {}
        }
        text.push_str(&self.basis.text());
        text
    }

    /// Builds the report. A mix that exceeds all machines is a finding of the command, so the verdict concerns only the baseline.
    fn report(&self) -> Report {
        let chosen = self.answer.machine.map(|at| self.question.catalogue[at].name.as_str());
        let summary = chosen.map_or_else(
            || "No machine of the catalogue fits.".to_owned(),
            |name| format!("{name} is the smallest machine that fits."),
        );
        let horizon = ("horizon".to_owned(), format!("{} months", self.file.horizon_months));
        let target = ("target".to_owned(), format!("{} %", self.file.target_percent));
        Report {
            kind: "sizing".to_owned(),
            title: "Sizing".to_owned(),
            verdict: Verdict::Good,
            summary,
            conditions: vec![target, horizon],
            sections: vec![self.workloads_section(), self.machines_section(), basis_section(&self.basis)],
        }
    }

    fn workloads_section(&self) -> Section {
        let columns = vec![
            Column::new("workload", ""),
            Column::new("rate", "tx/s"),
            Column::new("cost", "rating a tx/s"),
            Column::lower("need now", "rating"),
            Column::lower("need at the horizon", "rating"),
            Column::new("rate from", ""),
            Column::new("cost from", ""),
            Column::new("origin", ""),
            Column::new("source", ""),
        ];
        let from = |derived: &Derived| derived.from.as_deref().map_or(Cell::Empty, Cell::text);
        let row = |(at, Asked { wire: workload, rate, cost }): (usize, &Asked)| {
            vec![
                Cell::text(&workload.name),
                Cell::Number(rate.value),
                Cell::Number(cost.value),
                Cell::Number(self.answer.now[at].0),
                Cell::Number(self.answer.then[at].0),
                from(rate),
                from(cost),
                Cell::text(quayline_capacity::Origin::from(workload.origin).name()),
                workload.source.as_deref().map_or(Cell::Empty, Cell::text),
            ]
        };
        Section {
            id: "workloads".to_owned(),
            title: "Workloads at the peak hour".to_owned(),
            notes: vec![format!("A machine needs a rating of {:.2}.", self.answer.rating.0)],
            table: Table { columns, rows: self.file.workload.iter().enumerate().map(row).collect() },
            picture: Some(Picture::Bars {
                across: "rating".to_owned(),
                rows: self.file.workload.iter().map(|asked| asked.wire.name.clone()).collect(),
                series: vec![
                    ("now".to_owned(), self.answer.now.iter().map(|need| need.0).collect()),
                    ("at the horizon".to_owned(), self.answer.then.iter().map(|need| need.0).collect()),
                ],
            }),
        }
    }

    /// Builds a section that compares machines with the rating that the mix needs, by month.
    fn machines_section(&self) -> Section {
        let columns = vec![Column::new("machine", ""), Column::new("rating", ""), Column::new("verdict", "")];
        let row = |(at, machine): (usize, &Machine)| {
            let lacks: Vec<&str> = self.answer.lacks[at].iter().map(|lack| lack_name(*lack)).collect();
            let verdict = if !lacks.is_empty() {
                format!("lacks {}", lacks.join(", "))
            } else if self.answer.machine == Some(at) {
                "chosen".to_owned()
            } else {
                "larger than needed".to_owned()
            };
            vec![Cell::text(&machine.name), Cell::Number(machine.rating.0), Cell::Text(verdict)]
        };
        let months = self.file.horizon_months.max(12.0);
        let target = self.file.target_percent / 100.0;
        let at = |month: f64| {
            let need = self.question.workloads.iter();
            let need = need.map(|of| of.rate.0 * of.cost.0 * (month * of.growth.0.ln_1p()).exp());
            (month, need.sum::<f64>() / target)
        };
        let points: Vec<(f64, f64)> = (0..=24).map(|step| at(months * f64::from(step) / 24.0)).collect();
        let mut series = vec![Series { name: "rating needed".to_owned(), style: SeriesStyle::Line, points }];
        if let Some(chosen) = self.answer.machine {
            let machine = &self.question.catalogue[chosen];
            let points = vec![(0.0, machine.rating.0), (months, machine.rating.0)];
            series.push(Series { name: machine.name.clone(), style: SeriesStyle::Dashes, points });
        }
        Section {
            id: "machines".to_owned(),
            title: "Machines, and the rating needed by month".to_owned(),
            notes: Vec::new(),
            table: Table { columns, rows: self.question.catalogue.iter().enumerate().map(row).collect() },
            picture: Some(Picture::Lines { across: "months".to_owned(), up: "rating".to_owned(), series }),
        }
    }

    fn wire(&self) -> Wire<'_> {
        let SizingAnswer { now, then, rating, memory, disk, machine, utilization, exhausted, lacks } = self.answer;
        let workload = |(at, asked): (usize, &Asked)| NeedWire {
            name: self.question.workloads[at].name.clone(),
            rate: asked.rate.value,
            rate_from: asked.rate.from.clone(),
            cost: asked.cost.value,
            cost_from: asked.cost.from.clone(),
            now: now[at].0,
            then: then[at].0,
            origin: quayline_capacity::Origin::from(asked.wire.origin).name(),
            source: asked.wire.source.clone(),
        };
        let candidate = |(at, wire): (usize, &Machine)| CandidateWire {
            name: wire.name.clone(),
            rating: wire.rating.0,
            lacks: lacks[at].iter().map(|lack| lack_name(*lack)).collect(),
        };
        Wire {
            schema: "quayline.sizing/1",
            workloads: self.file.workload.iter().enumerate().map(workload).collect(),
            rating: rating.0,
            memory_bytes: memory.0,
            disk_bytes: disk.0,
            machine: machine.map(|at| self.question.catalogue[at].name.as_str()),
            utilization_now: utilization.map(|(now, _)| now.0),
            utilization_then: utilization.map(|(_, then)| then.0),
            exhausted_months: exhausted.as_ref().and_then(Exhaustion::months),
            machines: self.question.catalogue.iter().enumerate().map(candidate).collect(),
            basis: &self.basis,
        }
    }
}

fn lack_name(lack: Lack) -> &'static str {
    match lack {
        Lack::Rating => "rating",
        Lack::Memory => "memory",
        Lack::Disk => "disk",
    }
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    workloads: Vec<NeedWire>,
    rating: f64,
    memory_bytes: f64,
    disk_bytes: f64,
    machine: Option<&'a str>,
    utilization_now: Option<f64>,
    utilization_then: Option<f64>,
    exhausted_months: Option<f64>,
    machines: Vec<CandidateWire>,
    basis: &'a BasisWire,
}

#[derive(Serialize)]
struct NeedWire {
    name: String,
    rate: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_from: Option<String>,
    cost: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_from: Option<String>,
    now: f64,
    then: f64,
    origin: &'static str,
    source: Option<String>,
}

#[derive(Serialize)]
struct CandidateWire {
    name: String,
    rating: f64,
    lacks: Vec<&'static str>,
}
