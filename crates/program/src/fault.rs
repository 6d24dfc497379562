//! How a worker ends and why one cannot start.

/// Why a worker could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The system refuses memory, a bell or a process.
    #[error("{what}: {error}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// What the system says.
        error: std::io::Error,
    },
    /// A name that no COBOL program has.
    #[error("`{name}` is no program name: letters, digits, `-` and `_`, at most 60")]
    Name {
        /// What was given.
        name: String,
    },
}

/// How a worker process ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// libcob is not installed.
    NoRuntime,
    /// No module of that name is in the program folders, or it does not load.
    NoProgram,
    /// Killed because a call ran longer than its limit.
    TimeLimit,
    /// STOP RUN, or a run-time error of COBOL: the process ended itself with this code.
    Exited(i32),
    /// Ended by a signal: 11 (SIGSEGV) is a write after the COMMAREA's end or to another address that is not the program's.
    Signal(i32),
}

impl End {
    /// What happened, for a log and for a problem report; no payload.
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
