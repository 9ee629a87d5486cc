//! The one error type of the contract.

use std::fmt;

/// Result of a contract call.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of failure it is; the host acts on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An option's value is wrong: the suite is at fault and the message goes to its place there.
    Option,
    /// This machine or target cannot do it; `auto` tries the next backend.
    Unsupported,
    /// The system refused or failed.
    System,
    /// The plugin or its caller broke the contract.
    Contract,
}

/// A failure: lower-case text that reads after "cannot ...:", with the value, the limit and what to do.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    option: Option<String>,
    message: String,
}

impl Error {
    /// The value of option `name` cannot be used.
    pub fn option(name: impl Into<String>, message: impl Into<String>) -> Self {
        Error { kind: ErrorKind::Option, option: Some(name.into()), message: message.into() }
    }

    /// Not possible on this machine or target.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Error { kind: ErrorKind::Unsupported, option: None, message: message.into() }
    }

    /// The system failed at `what`.
    pub fn system(what: &str, cause: impl fmt::Display) -> Self {
        Error { kind: ErrorKind::System, option: None, message: format!("{what}: {cause}") }
    }

    /// The contract was broken.
    pub fn contract(message: impl Into<String>) -> Self {
        Error { kind: ErrorKind::Contract, option: None, message: message.into() }
    }

    /// What kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The option at fault, for [`ErrorKind::Option`].
    pub fn option_name(&self) -> Option<&str> {
        self.option.as_deref()
    }

    /// The text alone.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.option {
            Some(name) => write!(f, "option `{name}`: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}
