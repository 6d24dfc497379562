//! Every environment variable that the command reads, declared once with its meaning.

/// One environment variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnvVar {
    /// Name of the variable.
    pub(crate) name: &'static str,
    /// One line of meaning, for `--help` and `docs/reference/cli.md`.
    pub(crate) meaning: &'static str,
}

/// Disables colors on any terminal if set and not empty; `--color always` takes precedence. See no-color.org.
pub(crate) const NO_COLOR: EnvVar =
    EnvVar { name: "NO_COLOR", meaning: "set and not empty: no colours; `--color always` takes precedence" };

/// `dumb` is a terminal without colours and without a cursor to move, so no progress bar either.
pub(crate) const TERM: EnvVar = EnvVar { name: "TERM", meaning: "`dumb`: no colours and no progress bar" };

/// Panics of Quayline print a backtrace. This is the standard variable of Rust.
pub(crate) const RUST_BACKTRACE: EnvVar =
    EnvVar { name: "RUST_BACKTRACE", meaning: "`0`: no backtrace in reports of our bugs" };

/// Folder for compiled guides and maps.
pub(crate) const QUAYLINE_CACHE: EnvVar =
    EnvVar { name: "QUAYLINE_CACHE", meaning: "folder for compiled guides and maps, or `off`" };

/// The user's folder for caches, by the XDG Base Directory Specification.
pub(crate) const XDG_CACHE_HOME: EnvVar =
    EnvVar { name: "XDG_CACHE_HOME", meaning: "folder of caches, for the folder `quayline` in it [default: ~/.cache]" };

/// Parent folder of `.cache`.
pub(crate) const HOME: EnvVar = EnvVar { name: "HOME", meaning: "the user's folder" };

/// The key of stored bytes of partners' documents: secrets are named, never arguments.
pub(crate) const QUAYLINE_STORE_KEY: EnvVar = EnvVar {
    name: quayline_partner::STORE_KEY_VARIABLE,
    meaning: "key that encrypts stored documents of partners: 64 hexadecimal digits, or `file:PATH`",
};

/// Default durability of a unit of work.
pub(crate) const QUAYLINE_DURABILITY: EnvVar = EnvVar {
    name: "QUAYLINE_DURABILITY",
    meaning: "`sync` or `buffered`: when a unit of work of a store counts as done, as `--durability`",
};

/// Credentials of the commands that ask a server whose listener for operators has roles.
pub(crate) const QUAYLINE_ADMIN_KEY: EnvVar = EnvVar {
    name: "QUAYLINE_ADMIN_KEY",
    meaning: "key of an operator, for commands that send requests to the admin listener of a server",
};

/// Variables that affect commands, for the reference.
pub(crate) const ALL: [EnvVar; 8] = [
    NO_COLOR,
    TERM,
    RUST_BACKTRACE,
    QUAYLINE_ADMIN_KEY,
    QUAYLINE_CACHE,
    QUAYLINE_DURABILITY,
    QUAYLINE_STORE_KEY,
    XDG_CACHE_HOME,
];

impl EnvVar {
    /// Returns the value, if it is set and not empty.
    pub(crate) fn value(self) -> Option<std::ffi::OsString> {
        std::env::var_os(self.name).filter(|value| !value.is_empty())
    }
}
