//! The texts that values come from, and places in them. An error can point into the suite, into an argument
//! of the command line, or into the built-in defaults.

use std::fmt;

/// Which text. The suite's is always the first, the built-in defaults the second.
pub(crate) const SUITE: usize = 0;
pub(crate) const BUILT_IN: usize = 1;

/// A range of bytes in one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) text: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// One text and its name.
#[derive(Clone, Debug)]
struct Text {
    name: String,
    content: String,
}

/// All texts.
#[derive(Clone, Debug)]
pub(crate) struct Texts(Vec<Text>);

impl Texts {
    /// The suite and the built-in defaults.
    pub(crate) fn new(suite_name: &str, suite: &str, built_in: &str) -> Self {
        let text = |name: &str, content: &str| Text { name: name.to_owned(), content: content.to_owned() };
        Texts(vec![text(suite_name, suite), text("built-in defaults", built_in)])
    }

    /// Adds an argument of the command line and gives its place: all of it.
    pub(crate) fn add_argument(&mut self, flag: &str, content: &str) -> Place {
        self.0.push(Text { name: flag.to_owned(), content: content.to_owned() });
        Place { text: self.0.len() - 1, start: 0, end: content.len() }
    }

    pub(crate) fn name(&self, place: Place) -> &str {
        &self.0[place.text].name
    }

    pub(crate) fn content(&self, place: Place) -> &str {
        &self.0[place.text].content
    }

    /// The place within bounds and between characters, whatever it was.
    pub(crate) fn clamp(&self, place: Place) -> Place {
        let content = self.content(place);
        let start = content.floor_char_boundary(place.start);
        let end = content.ceil_char_boundary(place.end).max(start);
        Place { start, end, ..place }
    }

    /// Line and column, from 1; the column counts characters.
    pub(crate) fn line_and_column(&self, place: Place) -> (usize, usize) {
        let before = &self.content(place)[..self.clamp(place).start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// The place of `part` of a text value, where the value stands there as it is: between quotes, or bare.
    /// Else, as after an escape, the whole value's.
    pub(crate) fn within(&self, place: Place, value: &str, part: std::ops::Range<usize>) -> Place {
        let written = &self.content(place)[place.start..place.end];
        match written.find(value) {
            Some(at) if at <= 3 && written.len() <= value.len() + 6 => {
                let start = place.start + at;
                Place { start: start + part.start, end: start + part.end, ..place }
            }
            _ => place,
        }
    }
}

/// Who says a value, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    BuiltIn,
    Suite,
    Profile,
    Flag,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it.
    BuiltIn,
    /// The suite.
    Suite {
        /// Line, from 1.
        line: usize,
    },
    /// A profile of the suite.
    Profile {
        /// Name.
        name: String,
        /// Line, from 1.
        line: usize,
    },
    /// An argument of the command line.
    Flag {
        /// Which: `--set`.
        flag: String,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::BuiltIn => f.write_str("built-in"),
            Source::Suite { line } => write!(f, "suite, line {line}"),
            Source::Profile { name, line } => write!(f, "profile {name}, line {line}"),
            Source::Flag { flag } => f.write_str(flag),
        }
    }
}

/// A value that holds, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced {
    /// Full path: `test.4k-random-read.load.outstanding`.
    pub path: String,
    /// The value as TOML.
    pub value: String,
    /// Where it comes from.
    pub source: Source,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_and_kept_within_bounds() {
        let texts = Texts::new("a.toml", "x = 1\nnäme = \"ä\"\n", "");
        let at = |start, end| Place { text: SUITE, start, end };
        assert_eq!(texts.line_and_column(at(0, 1)), (1, 1));
        assert_eq!(texts.line_and_column(at(12, 13)), (2, 6));
        assert_eq!(texts.line_and_column(at(99, 100)), (3, 1));
        assert_eq!(texts.clamp(at(8, 8)), at(7, 9));
        assert_eq!(texts.clamp(at(500, 3)), at(19, 19));
    }

    #[test]
    fn a_part_of_a_value_is_found_unless_it_was_escaped() {
        let content = r#"a = "p99 < 1ms""#;
        let texts = Texts::new("a.toml", content, "");
        let place = Place { text: SUITE, start: 4, end: content.len() };
        let part = texts.within(place, "p99 < 1ms", 6..9);
        assert_eq!(&content[part.start..part.end], "1ms");
        assert_eq!(texts.within(place, "p99 < 2ms", 6..9), place);
    }
}
