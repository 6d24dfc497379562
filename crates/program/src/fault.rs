//! The end of a worker, and the reasons why one cannot start.

/// Error of starting a worker.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The system refuses memory, a bell or a process.
    #[error("{what}: {error}")]
    System {
        /// The requested resource.
        what: &'static str,
        /// The system's error.
        error: std::io::Error,
    },
    /// The working directory of the program is missing.
    #[error("the work folder {} of the program does not exist", folder.display())]
    WorkFolder {
        /// The folder.
        folder: std::path::PathBuf,
    },
    /// A name that no COBOL program has.
    #[error("`{name}` is not a program name: letters, digits, `-` and `_`, at most 60")]
    Name {
        /// The name as given.
        name: String,
    },
}

/// The way a worker process ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// libcob is not installed.
    NoRuntime,
    /// No module of that name is in the program folders, or it cannot be loaded.
    NoProgram,
    /// Killed because a call ran longer than its limit.
    TimeLimit,
    /// STOP RUN, or a run-time error of COBOL: the process ended itself with this code.
    Exited(i32),
    /// Ended by a signal: 11 (SIGSEGV) is a write after the COMMAREA's end or to another address that is not the program's.
    Signal(i32),
}

impl End {
    /// Describes the end for a log and a problem report, without payload.
    #[must_use]
    pub fn reason(self) -> String {
        match self {
            End::NoRuntime => "the COBOL run-time library libcob is not installed".to_owned(),
            End::NoProgram => {
                "the program's module is not in the program folders, or does not load: compile it with `cobc -m`"
                    .to_owned()
            }
            End::TimeLimit => "the program ran longer than its time limit and was stopped".to_owned(),
            End::Exited(0) => "the program ended its process with STOP RUN instead of GOBACK".to_owned(),
            End::Exited(code) => {
                format!("the program ended its process with code {code}: a run-time error, or STOP RUN")
            }
            End::Signal(signal) => {
                let what = match signal {
                    4 => " (illegal instruction)",
                    6 => " (abort)",
                    7 => " (bus error)",
                    8 => " (arithmetic)",
                    9 => " (killed: the system ran out of memory, or someone stopped it)",
                    11 => " (it touched memory that is not its own, such as bytes after the end of its COMMAREA)",
                    _ => "",
                };
                format!("the program's process was ended by signal {signal}{what}")
            }
        }
    }
}
