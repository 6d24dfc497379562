//! `quayline.externalMapper`, `externalCollector`, `externalAnalyzer` and `externalReducer`: programs that plan partitions and process their results.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::program::{Program, text_of};
use super::wire::Field;
use crate::artifact::{
    Answer, Injected, PartitionAnalyzer, PartitionCollector, PartitionMapper, PartitionOutcome, PartitionPlan,
    PartitionReducer,
};
use crate::context::StepContext;
use crate::status::BatchStatus;

/// Greatest number of partitions, so that a wrong program does not fill the repository.
const PARTITIONS_MAX: usize = 10_000;

pub(super) struct ExternalMapper {
    program: Program,
}

impl ExternalMapper {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(ExternalMapper { program: Program::new(with, "mapper")? })
    }
}

impl PartitionMapper for ExternalMapper {
    fn plan(&mut self) -> Answer<PartitionPlan> {
        let fields = self.program.ask("plan", &[])?;
        plan_of(fields).map_err(|what| self.program.misfit("plan", what))
    }

    fn must_repeat(&self) -> bool {
        self.program.can("repeats")
    }
}

/// Threads, `keep` or `replace`, then for each partition the number of its properties, and their names and values.
fn plan_of(fields: Vec<Field>) -> Result<PartitionPlan, String> {
    let mut fields = fields.into_iter();
    let number = |field: Option<Field>| -> Option<usize> { text_of(&field??).trim().parse().ok() };
    let threads = match fields.next() {
        Some(None) => 0,
        field => number(field).ok_or("begins with neither the number of threads nor `-`")?,
    };
    let replaces = match fields.next().flatten().as_deref() {
        Some(b"keep") | None => false,
        Some(b"replace") => true,
        Some(_) => return Err("says neither `keep` nor `replace`".to_owned()),
    };
    let mut properties = Vec::new();
    while let Some(field) = fields.next() {
        let partition = properties.len();
        let count = number(Some(field)).ok_or(format!("has no number of properties for partition {partition}"))?;
        let mut of_partition = BTreeMap::new();
        for _ in 0..count {
            let (Some(Some(name)), Some(value)) = (fields.next(), fields.next()) else {
                return Err(format!("ends within the properties of partition {partition}"));
            };
            of_partition.insert(text_of(&name), value.map(|value| text_of(&value)).unwrap_or_default());
        }
        properties.push(of_partition);
    }
    match properties.len() {
        0 => Err("has no partition".to_owned()),
        count if count > PARTITIONS_MAX => Err(format!("has {count} partitions, at most {PARTITIONS_MAX} are allowed")),
        _ => Ok(PartitionPlan { properties, threads: u32::try_from(threads).unwrap_or(u32::MAX), replaces }),
    }
}

pub(super) struct ExternalCollector {
    program: Program,
    step: Option<Arc<StepContext>>,
}

impl ExternalCollector {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(ExternalCollector { program: Program::new(with, "collector")?, step: with.step.clone() })
    }
}

impl PartitionCollector for ExternalCollector {
    fn collect(&mut self) -> Answer<Option<Vec<u8>>> {
        let counts = self.step.as_ref().map(|step| step.counts()).unwrap_or_default();
        let counts: Vec<(&str, String)> =
            counts.named().into_iter().map(|(name, count)| (name, count.to_string())).collect();
        let fields: Vec<Option<&[u8]>> =
            counts.iter().flat_map(|(name, count)| [Some(name.as_bytes()), Some(count.as_bytes())]).collect();
        let mut answer = self.program.ask("collect", &fields)?;
        if answer.len() > 1 {
            return Err(self.program.misfit("collect", format!("has {} fields, expected one", answer.len())));
        }
        Ok(answer.pop().flatten())
    }
}

/// A program that sees the step as a whole, and may set its exit status with each answer.
struct Whole {
    program: Program,
    step: Option<Arc<StepContext>>,
}

impl Whole {
    fn new(with: &Injected, kind: &'static str) -> Answer<Self> {
        Ok(Whole { program: Program::new(with, kind)?, step: with.step.clone() })
    }

    fn say(&mut self, verb: &str, fields: &[Option<&[u8]>]) -> Answer<()> {
        let answer = self.program.ask(verb, fields)?;
        if let (Some(Some(status)), Some(step)) = (answer.first(), &self.step) {
            step.set_exit_status(text_of(status));
        }
        Ok(())
    }
}

pub(super) struct ExternalAnalyzer(Whole);

impl ExternalAnalyzer {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(ExternalAnalyzer(Whole::new(with, "analyzer")?))
    }
}

impl PartitionAnalyzer for ExternalAnalyzer {
    fn data(&mut self, data: Option<&[u8]>) -> Answer<()> {
        self.0.say("analyze", &[data])
    }

    fn status(&mut self, status: BatchStatus, exit_status: &str) -> Answer<()> {
        self.0.say("status", &[Some(status.text().as_bytes()), Some(exit_status.as_bytes())])
    }
}

pub(super) struct ExternalReducer(Whole);

impl ExternalReducer {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(ExternalReducer(Whole::new(with, "reducer")?))
    }
}

impl PartitionReducer for ExternalReducer {
    fn begin(&mut self) -> Answer<()> {
        self.0.say("begin", &[])
    }

    fn before_completion(&mut self) -> Answer<()> {
        self.0.say("before-completion", &[])
    }

    fn rollback(&mut self) -> Answer<()> {
        self.0.say("rollback", &[])
    }

    fn after_completion(&mut self, outcome: PartitionOutcome) -> Answer<()> {
        let outcome: &[u8] = match outcome {
            PartitionOutcome::Commit => b"commit",
            PartitionOutcome::Rollback => b"rollback",
        };
        self.0.say("after-completion", &[Some(outcome)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(words: &[&str]) -> Result<PartitionPlan, String> {
        plan_of(words.iter().map(|word| (*word != "-").then(|| word.as_bytes().to_vec())).collect())
    }

    #[test]
    fn plans_are_threads_a_word_and_properties() {
        let found = plan(&["2", "keep", "2", "from", "0", "to", "9", "1", "from", "9"]).unwrap();
        let of = |list: &[(&str, &str)]| -> BTreeMap<String, String> {
            list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        assert_eq!(found.properties, [of(&[("from", "0"), ("to", "9")]), of(&[("from", "9")])]);
        assert_eq!((found.threads, found.replaces), (2, false));
        assert!(plan(&["-", "replace", "0"]).unwrap().replaces);
        for (words, wrong) in [
            (&["two"][..], "begins with neither"),
            (&[], "begins with neither"),
            (&["1", "renew", "0"], "neither `keep` nor"),
            (&["1", "keep"], "has no partition"),
            (&["1", "keep", "x"], "no number of properties for partition 0"),
            (&["1", "keep", "0", "1", "from"], "ends within the properties of partition 1"),
        ] {
            let told = plan(words).unwrap_err();
            assert!(told.contains(wrong), "{words:?}: {told}");
        }
        let many = ["1", "keep"].into_iter().chain(std::iter::repeat_n("0", PARTITIONS_MAX + 1)).collect::<Vec<_>>();
        assert!(plan(&many).unwrap_err().contains("at most 10000"));
    }
}
