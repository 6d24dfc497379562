//! A study as Markdown.

use std::fmt::{self, Write as _};

use crate::load::Run;
use crate::study::{GatewayStudy, LINEAR_MIN, Row};

impl GatewayStudy {
    /// Returns the tables as Markdown.
    #[must_use]
    pub fn tables(&self) -> String {
        let mut text = String::new();
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        self.saturated_table(text)?;
        if !self.rows.is_empty() {
            self.linearity(text)?;
            self.waste(text)?;
            self.think_time_table(text)?;
        }
        writeln!(text, "\nFailed requests: {}", self.failures)?;
        let (before, after) = self.busy;
        writeln!(text, "Load average of the machine: {before:.1} at the begin, {after:.1} at the end")?;
        for missed in self.missed() {
            writeln!(text, "Missed: {missed}")?;
        }
        Ok(())
    }

    fn saturated_table(&self, text: &mut String) -> fmt::Result {
        let title = "## Saturated, server on one core: CPU a request against the same HTTP stack with static bytes";
        writeln!(text, "{title}\n")?;
        writeln!(
            text,
            "| payload | bytes | gateway µs | of it program µs | static µs | ratio | middle half of its turns | target | gateway k instr. | static k instr. | gateway req/s | static req/s |"
        )?;
        writeln!(text, "|---|---|---|---|---|---|---|---|---|---|---|---|")?;
        for twin in &self.twins {
            let (gateway, fixed) = (&twin.gateway, &twin.fixed);
            let (low, high) = twin.middle();
            writeln!(
                text,
                "| {} | {} | {:.1} | {:.1} | {:.1} | {:.2} | {low:.2} to {high:.2} | {} | {} | {} | {:.0} | {:.0} |",
                twin.title,
                gateway.body_bytes(),
                gateway.cpu_us(),
                gateway.median(|run| run.cpu_us() - run.server_us()),
                fixed.cpu_us(),
                twin.ratio(),
                twin.bar,
                thousands(gateway.kilo_instructions()),
                thousands(fixed.kilo_instructions()),
                gateway.median(Run::tps),
                fixed.median(Run::tps)
            )?;
        }
        Ok(())
    }

    /// Writes the table for figure 10 of IBM's report.
    fn linearity(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "\n## Linear in payload (figure 10; saturated)\n")?;
        writeln!(text, "| cars | bytes | CPU µs/tx | k instr./tx | transactions |\n|---|---|---|---|---|")?;
        for (cars, runs) in &self.linear {
            let count: u64 = runs.0.iter().map(|run| run.answers).sum();
            let counted = thousands(runs.kilo_instructions());
            writeln!(text, "| {cars} | {} | {:.2} | {counted} | {count} |", runs.body_bytes(), runs.cpu_us())?;
        }
        if let Some(fit) = self.fit(crate::study::Runs::cpu_us) {
            let (rest, slope, explained) = (fit.rest, fit.slope, fit.explained);
            writeln!(
                text,
                "\nCPU time: {rest:.2} µs and {slope:.4} µs a kilobyte of JSON, r² {explained:.4} (target {LINEAR_MIN})."
            )?;
        }
        if let Some(fit) = self.fit_instructions() {
            let (rest, slope, explained) = (fit.rest, fit.slope, fit.explained);
            writeln!(
                text,
                "Instructions: {rest:.1} thousand and {slope:.2} thousand a kilobyte of JSON, r² {explained:.4}."
            )?;
        }
        Ok(())
    }

    /// Writes table 2 of IBM's report, if it was measured.
    fn waste(&self, text: &mut String) -> fmt::Result {
        let Some((read, not)) = &self.wasted else { return Ok(()) };
        writeln!(
            text,
            "\n## The car array left out of the answer: read all the same, and not read (table 2; saturated)\n"
        )?;
        writeln!(
            text,
            "| request | CPU µs/tx | gateway's part | program's part | k instr./tx | the report's ms |\n|---|---|---|---|---|---|"
        )?;
        for (name, runs, reported) in [("maxCars=100", read, 0.64), ("maxCars=0", not, 0.35)] {
            writeln!(
                text,
                "| {name} | {:.2} | {:.2} | {:.2} | {} | {reported} |",
                runs.cpu_us(),
                runs.median(Run::server_us),
                runs.median(|run| run.cpu_us() - run.server_us()),
                thousands(runs.kilo_instructions())
            )?;
        }
        let more = |read: f64, not: f64| (read / not - 1.0) * 100.0;
        let time = more(read.cpu_us(), not.cpu_us());
        let counted = read.kilo_instructions().zip(not.kilo_instructions());
        let counted =
            counted.map_or_else(String::new, |(read, not)| format!(", {:.1} % more instructions", more(read, not)));
        writeln!(
            text,
            "\nReading fields that are not shown costs {time:.1} % more CPU time{counted} (the report: 83 % more time)."
        )
    }

    fn think_time_table(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "\n## Think time 500 ms (table 1, figures 9 and 11 to 15)\n")?;
        writeln!(
            text,
            "| scenario | printed bytes | bytes | clients | TPS | CPU µs/tx | k instr./tx | CPU % | mean ms | p50 | p90 | p99 | p99.9 |"
        )?;
        writeln!(text, "|---|---|---|---|---|---|---|---|---|---|---|---|---|")?;
        let mut row = |title: &str, printed: &str, clients: usize, run: &Run| {
            writeln!(
                text,
                "| {title} | {printed} | {} | {clients} | {:.0} | {:.1} | {} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
                run.body_bytes,
                run.tps(),
                run.cpu_us(),
                thousands(run.kilo_instructions()),
                run.busy_percent(),
                run.mean_ms(),
                run.ms(50.0),
                run.ms(90.0),
                run.ms(99.0),
                run.ms(99.9)
            )
        };
        for Row { scenario, clients, run } in &self.rows {
            row(scenario.title, &scenario.printed.to_string(), *clients, run)?;
        }
        for (clients, run) in &self.control {
            row("Static bytes", "", *clients, run)?;
        }
        let judge = if self.machine_is_constant() {
            "static bytes take the same time, so time decides"
        } else {
            "static bytes do not take the same time on this machine, so instructions decide where they are counted"
        };
        writeln!(text, "\nCost of a transaction over all numbers of clients ({judge}):\n")?;
        for spread in self.spreads().iter().chain(&self.control_spread()) {
            writeln!(text, "- {}: {}", spread.title, spread.text())?;
        }
        if let Some((rate, run)) = &self.open {
            writeln!(
                text,
                "\nOpen arrivals, {rate:.0} a second, baseline: {:.0} TPS, mean {:.2} ms, p50 {:.2}, p99 {:.2} from when each was due.",
                run.tps(),
                run.mean_ms(),
                run.ms(50.0),
                run.ms(99.0)
            )?;
        }
        Ok(())
    }
}

fn thousands(count: Option<f64>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| format!("{count:.1}"))
}
