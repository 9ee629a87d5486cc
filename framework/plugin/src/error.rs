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
    also: Vec<Error>,
}

/// What was found wrong so far, so that all of it is told at once.
#[derive(Debug, Default)]
pub struct Errors(Vec<Error>);

impl Errors {
    /// Keeps an error for later and goes on with `otherwise`, which [`Errors::end`] lets nobody use.
    pub fn keep<T>(&mut self, result: Result<T>, otherwise: T) -> T {
        result.unwrap_or_else(|error| {
            self.0.push(error);
            otherwise
        })
    }

    /// All is well, or all errors as one.
    ///
    /// # Errors
    /// When one was kept.
    pub fn end(self) -> Result<()> {
        let mut errors = self.0.into_iter();
        match errors.next() {
            None => Ok(()),
            Some(first) => Err(Error { also: errors.flat_map(Error::into_all).collect(), ..first }),
        }
    }
}

impl Error {
    fn new(kind: ErrorKind, option: Option<String>, message: String) -> Self {
        Error { kind, option, message, also: Vec::new() }
    }

    /// The value of option `name` cannot be used.
    pub fn option(name: impl Into<String>, message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Option, Some(name.into()), message.into())
    }

    /// Not possible on this machine or target.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Unsupported, None, message.into())
    }

    /// The system failed at `what`.
    pub fn system(what: &str, cause: impl fmt::Display) -> Self {
        Error::new(ErrorKind::System, None, format!("{what}: {cause}"))
    }

    /// The contract was broken.
    pub fn contract(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Contract, None, message.into())
    }

    /// What kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The option at fault, for [`ErrorKind::Option`].
    pub fn option_name(&self) -> Option<&str> {
        self.option.as_deref()
    }

    /// This one and those that [`Errors`] found after it.
    pub fn all(&self) -> impl Iterator<Item = &Error> {
        std::iter::once(self).chain(&self.also)
    }

    fn into_all(mut self) -> Vec<Error> {
        let mut all = std::mem::take(&mut self.also);
        all.insert(0, self);
        all
    }

    /// The text alone, without those found after it.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.all().enumerate() {
            let before = if number > 0 { "; " } else { "" };
            match &error.option {
                Some(name) => write!(f, "{before}option `{name}`: {}", error.message)?,
                None => write!(f, "{before}{}", error.message)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_together() {
        let mut errors = Errors::default();
        assert_eq!(errors.keep(Ok(1), 0), 1);
        assert_eq!(errors.keep(Err(Error::option("a", "is wrong")), 2), 2);
        let mut inner = Errors::default();
        inner.keep(Err(Error::unsupported("cannot be had")), ());
        inner.keep(Err(Error::option("b", "is wrong, too")), ());
        errors.keep(inner.end(), ());
        let error = errors.end().unwrap_err();
        assert_eq!(error.to_string(), "option `a`: is wrong; cannot be had; option `b`: is wrong, too");
        assert_eq!((error.kind(), error.all().count()), (ErrorKind::Option, 3));
        assert!(Errors::default().end().is_ok());
    }
}
