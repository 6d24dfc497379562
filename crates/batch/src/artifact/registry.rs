//! Artifacts by the names with which jobs refer to them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::Finding;
use quayline_project::job::{Artifacts, PropertyFault};

use super::{
    Answer, Batchlet, CheckpointAlgorithm, Decider, Given, Injected, Listener, PartitionAnalyzer, PartitionCollector,
    PartitionMapper, PartitionReducer, Processor, Properties, Reader, Writer,
};
use crate::context::{JobContext, StopSignal};
use crate::error::Thrown;

/// Makes an artifact for one use.
pub type Maker<T> = Box<dyn Fn(&Injected) -> Answer<Box<T>> + Send + Sync>;

/// The artifacts of a kind.
struct Kind<T: ?Sized> {
    /// The element's name in job XML.
    element: &'static str,
    makers: BTreeMap<String, Maker<T>>,
}

impl<T: ?Sized> Kind<T> {
    fn new(element: &'static str) -> Self {
        Kind { element, makers: BTreeMap::new() }
    }

    fn make(&self, with: &Injected) -> Answer<Box<T>> {
        match self.makers.get(&with.name) {
            Some(maker) => maker(with),
            None => {
                let message = format!("no {} is called {}", self.element, with.name);
                Err(Thrown::new("quayline.Configuration", message).hint("quayline job check names what is missing"))
            }
        }
    }
}

macro_rules! kinds {
    ($( $field:ident $make:ident $element:literal $artifact:ident; )+) => {
        /// Artifacts by name.
        pub struct Registry {
            $( $field: Kind<dyn $artifact>, )+
            classes: BTreeMap<String, String>,
            /// Properties by element and name.
            declared: BTreeMap<(String, String), Properties>,
            /// Folder in which the check of a job compiles definitions.
            folder: Option<PathBuf>,
        }

        impl Default for Registry {
            fn default() -> Self {
                Registry {
                    $( $field: Kind::new($element), )+
                    classes: BTreeMap::new(),
                    declared: BTreeMap::new(),
                    folder: None,
                }
            }
        }

        #[allow(missing_docs, clippy::missing_errors_doc, reason = "two methods for each kind of artifact: one registers a maker, one makes")]
        impl Registry {
            $(
                pub fn $field(&mut self, name: &str, maker: impl Fn(&Injected) -> Answer<Box<dyn $artifact>> + Send + Sync + 'static) {
                    self.$field.makers.insert(name.to_owned(), Box::new(maker));
                }

                pub(crate) fn $make(&self, with: &Injected) -> Answer<Box<dyn $artifact>> {
                    self.check($element, with)?;
                    self.$field.make(with)
                }
            )+

            /// Makes an artifact and forgets it: whether it can be made.
            pub(crate) fn make_any(&self, element: &str, with: &Injected) -> Answer<()> {
                match element {
                    $( $element => self.$make(with).map(|_| ()), )+
                    _ => Ok(()),
                }
            }

            /// Returns the names of the elements that refer to artifacts.
            #[cfg(test)]
            pub(crate) fn elements(&self) -> Vec<&'static str> {
                vec![$( self.$field.element, )+]
            }
        }

        impl Artifacts for Registry {
            fn properties(&self, kind: &str, reference: &str, given: &Given) -> Vec<PropertyFault> {
                let declared = self.declared.get(&(kind.to_owned(), reference.to_owned()));
                declared.map_or_else(Vec::new, |properties| properties.faults(reference, given))
            }

            fn definitions(&self, kind: &str, reference: &str, given: &BTreeMap<String, String>) -> Vec<Finding> {
                let declared = self.declared.get(&(kind.to_owned(), reference.to_owned()));
                let is_made = declared.is_some_and(|properties| properties.is_made_by_check);
                let Some(folder) = self.folder.clone().filter(|_| is_made) else { return Vec::new() };
                let with = Injected {
                    name: reference.to_owned(),
                    properties: given.clone(),
                    job: Arc::new(JobContext::new("", Default::default(), BTreeMap::new(), StopSignal::default())),
                    step: None,
                    folder,
                };
                self.make_any(kind, &with).err().map_or_else(Vec::new, |thrown| thrown.of_definition())
            }

            fn missing(&self, kind: &str, reference: &str) -> Option<Vec<String>> {
                match kind {
                    $( $element => if self.$field.makers.contains_key(reference) { None } else {
                        Some(self.$field.makers.keys().cloned().collect())
                    }, )+
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    reader make_reader "reader" Reader;
    processor make_processor "processor" Processor;
    writer make_writer "writer" Writer;
    batchlet make_batchlet "batchlet" Batchlet;
    checkpoint_algorithm make_checkpoint_algorithm "checkpoint-algorithm" CheckpointAlgorithm;
    decider make_decider "decision" Decider;
    mapper make_mapper "mapper" PartitionMapper;
    reducer make_reducer "reducer" PartitionReducer;
    collector make_collector "collector" PartitionCollector;
    analyzer make_analyzer "analyzer" PartitionAnalyzer;
    listener make_listener "listener" Listener;
}

impl Registry {
    /// Declares the properties of an artifact: a job is checked against them before it runs, and the artifact before it is made. `element` is the
    /// element's name in job XML, such as `reader` or `decision`. Properties of an artifact that declares none are not checked.
    pub fn declare(&mut self, element: &str, name: &str, properties: Properties) {
        self.declared.insert((element.to_owned(), name.to_owned()), properties);
    }

    /// Refuses undeclared properties and invalid values, for example misspelt names or values known only in this run.
    fn check(&self, element: &str, with: &Injected) -> Answer<()> {
        let Some(declared) = self.declared.get(&(element.to_owned(), with.name.clone())) else { return Ok(()) };
        let given = with.properties.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        match declared.faults(&with.name, &given).into_iter().next() {
            None => Ok(()),
            Some(fault) => Err(Thrown::refused(fault.message, fault.remedy)),
        }
    }

    /// Sets the folder of relative paths for the check of a job. The check creates artifacts whose properties permit it
    /// ([`Properties::is_made_by_check`]), and thereby compiles the same definitions as a run.
    #[must_use]
    pub fn in_folder(self, folder: &Path) -> Self {
        Registry { folder: Some(folder.to_owned()), ..self }
    }

    /// Declares the superclass of an exception class.
    pub fn class(&mut self, class: &str, superclass: &str) {
        self.classes.insert(class.to_owned(), superclass.to_owned());
    }

    /// Returns the class and superclasses of an exception: its own lineage and the declared superclasses.
    #[must_use]
    pub fn lineage(&self, thrown: &Thrown) -> Vec<String> {
        let mut lineage = thrown.lineage.clone();
        let mut at = 0;
        while at < lineage.len() {
            if let Some(parent) = self.classes.get(&lineage[at])
                && !lineage.contains(parent)
            {
                lineage.insert(at + 1, parent.clone());
            }
            at += 1;
        }
        lineage
    }
}
