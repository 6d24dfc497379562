//! The report of a profile of costs.

use quayline_meter::{Phase, Profile, ProfileClass};
use quayline_report::{Cell, Column, Picture, Report, Section, Table, Verdict};

/// Builds the report of a profile. Two reports of one kind on one machine can be compared.
#[must_use]
pub fn profile_report(profile: &Profile) -> Report {
    let host = &profile.host;
    let micros = |each: Option<f64>| each.map_or(Cell::Empty, |each| Cell::Number(each * 1e6));
    let mut columns = vec![
        Column::new("class", ""),
        Column::new("count", ""),
        Column::lower("CPU time", "µs"),
        Column::lower("time", "µs"),
    ];
    columns.extend(Phase::ALL.map(|phase| Column::lower(phase.name(), "µs")));
    columns.extend(Phase::ALL.map(|phase| Column::lower(&format!("{} CPU", phase.name()), "µs")));
    columns.extend([
        Column::lower("p50", "µs"),
        Column::lower("p95", "µs"),
        Column::new("p99", "µs"),
        Column::new("unaccounted", "%"),
    ]);
    let rows = profile.classes.iter().zip(profile.cpu_each()).map(|(class, cpu)| {
        let mut row = vec![
            Cell::text(class.name.clone()),
            Cell::Number(class.count as f64),
            micros(cpu),
            micros((class.count > 0).then(|| class.wall_s / class.count as f64)),
        ];
        row.extend(Phase::ALL.map(|phase| micros(class.phase_each(phase).filter(|each| *each > 0.0))));
        row.extend(Phase::ALL.map(|phase| micros(class.phase_cpu_each(phase).filter(|each| *each > 0.0))));
        row.extend([50.0, 95.0, 99.0].map(|percent| micros(class.percentile(percent))));
        row.push(Cell::Number(100.0 * class.unaccounted_share()));
        row
    });
    let series = Phase::ALL.map(|phase| {
        let each = |class: &ProfileClass| class.phase_each(phase).unwrap_or(0.0) * 1e6;
        (phase.name().to_owned(), profile.classes.iter().map(each).collect::<Vec<f64>>())
    });
    let doubtful: Vec<&str> =
        profile.classes.iter().filter(|class| !class.is_trustworthy()).map(|class| class.name.as_str()).collect();
    let (verdict, summary) = if doubtful.is_empty() {
        let (wall, cpu) = (seconds(profile.wall_s), seconds(profile.cpu_s));
        (Verdict::Good, format!("{} classes in {wall} s, {cpu} s CPU.", profile.classes.len()))
    } else {
        let names = doubtful.join(", ");
        (Verdict::Untrustworthy, format!("More than 2 % of the time is in no phase: {names}."))
    };
    Report {
        kind: format!("profile of {}", profile.kind),
        title: format!("What the transactions of `{}` cost", profile.kind),
        verdict,
        summary,
        conditions: vec![
            ("processor".to_owned(), host.processor.clone()),
            ("threads".to_owned(), host.threads.to_string()),
            ("system".to_owned(), host.system.clone()),
            ("build".to_owned(), host.build.clone()),
        ],
        sections: vec![Section {
            id: "classes".to_owned(),
            title: "Cost of a transaction".to_owned(),
            notes: vec![
                "CPU time is that of the process, divided among the classes by their phases that compute. Phases are wall time."
                    .to_owned(),
            ],
            table: Table { columns, rows: rows.collect() },
            picture: Some(Picture::Bars {
                across: "µs".to_owned(),
                rows: profile.classes.iter().map(|class| class.name.clone()).collect(),
                series: series.into_iter().filter(|(_, each)| each.iter().any(|each| *each > 0.0)).collect(),
            }),
        }],
    }
}

fn seconds(time: f64) -> String {
    format!("{time:.3}")
}
