//! `quayline.externalProcessor`: a program makes items of items, those of a chunk in one request.

use super::program::Program;
use crate::artifact::{Answer, Injected, Item, Processed, Processor};

pub(super) struct ExternalProcessor {
    program: Program,
}

impl ExternalProcessor {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(ExternalProcessor { program: Program::new(with, "processor")? })
    }
}

impl Processor for ExternalProcessor {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        let mut processed = self.process_all(std::slice::from_ref(item));
        match processed.thrown {
            Some(thrown) => Err(thrown),
            None => Ok(processed.results.pop().flatten()),
        }
    }

    fn takes_chunks(&self) -> bool {
        true
    }

    fn process_all(&mut self, items: &[Item]) -> Processed {
        let fields: Vec<Option<&[u8]>> = items.iter().map(|item| Some(item.as_slice())).collect();
        match self.program.ask_or_stop("process", &fields, |_| {}) {
            Err(thrown) => Processed { results: Vec::new(), thrown: Some(thrown) },
            Ok((results, thrown)) => {
                let fits = match &thrown {
                    Some(_) => results.len() < items.len(),
                    None => results.len() == items.len(),
                };
                if !fits {
                    let what = format!("has {} results for {} items", results.len(), items.len());
                    return Processed { results: Vec::new(), thrown: Some(self.program.misfit("process", what)) };
                }
                Processed { results, thrown }
            }
        }
    }
}
