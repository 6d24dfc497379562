//! The seven payloads of `examples/dealership`: size and CPU time of each.

use crate::data::{CarRecords, Length};
use crate::median;
use crate::subject::Subject;

/// One row of the report's Table 1.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The report's name for it.
    pub title: &'static str,
    /// Name of its interface file without `.toml`.
    pub name: &'static str,
    /// Text of that file.
    pub interface: &'static str,
    /// Cars a record; there are always 25 dealers.
    pub cars: u32,
    /// JSON bytes that the report prints.
    pub printed: usize,
}

macro_rules! scenarios {
    ($($title:literal, $name:literal, $cars:literal, $printed:literal;)*) => {
        /// All seven scenarios, in table order.
        pub const SCENARIOS: &[Scenario] = &[$(Scenario {
            title: $title,
            name: $name,
            interface: include_str!(concat!("../../../examples/dealership/", $name, ".toml")),
            cars: $cars,
            printed: $printed,
        }),*];
    };
}

scenarios! {
    "Baseline", "baseline", 100, 63_949;
    "Exclude dealer array", "exclude-dealers", 100, 59_634;
    "Exclude car array", "exclude-cars", 0, 4_441;
    "Exclude 10 of 20 fields", "exclude-10-fields", 100, 35_649;
    "Interface rename", "rename", 100, 38_487;
    "ODO 50 %", "odo-50", 50, 34_298;
    "ODO 10 %", "odo-10", 10, 10_578;
}

impl Scenario {
    /// Returns a subject with this many records and the scenario's interface.
    ///
    /// # Errors
    /// Findings of the interface file, which are internal errors.
    pub fn subject(&self, length: Length, count: usize) -> Result<Subject, String> {
        Subject::of_cars(CarRecords { cars: self.cars, dealers: 25, length }, self.interface, count)
    }
}

/// Returns the table as Markdown: printed size, measured size, CPU time per record (median of nine runs over 1,000 COMMAREAs, including framing and
/// output).
///
/// # Errors
/// See [`Scenario::subject`].
pub fn table() -> Result<String, String> {
    let mut table = String::from(
        "| scenario | interface file | cars | printed bytes | ours | CPU a record |\n|---|---|---|---|---|---|\n",
    );
    for scenario in SCENARIOS {
        const RECORDS: usize = 1_000;
        let subject = scenario.subject(Length::Commarea, RECORDS)?;
        let size = subject.json().len() / RECORDS - 1;
        let runs = (0..=9).map(|_| subject.to_json().cpu.as_secs_f64()).skip(1);
        let cpu_us = median(runs) * 1e6 / RECORDS as f64;
        let Scenario { title, name, cars, printed, .. } = scenario;
        table.push_str(&format!("| {title} | `{name}.toml` | {cars} | {printed} | {size} | {cpu_us:.1} µs |\n"));
    }
    Ok(table)
}
