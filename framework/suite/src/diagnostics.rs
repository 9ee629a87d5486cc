//! Errors in a suite: collected, so that all come together, each with its place, and rendered as rustc does.

use std::cell::RefCell;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use iodyno_record::{Note, NoteLevel};

use crate::foreign;
use crate::text::{Origin, Place, Source, Texts};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    place: Place,
    message: String,
    label: Option<String>,
    related: Option<Box<(Place, String)>>,
    help: Option<String>,
}

impl Fault {
    /// A fault at a place. The message is lower-case, with value and limit.
    pub(crate) fn new(place: Place, message: impl Into<String>) -> Self {
        Fault { place, message: message.into(), label: None, related: None, help: None }
    }

    /// A word or two below the place.
    #[must_use]
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// What to type instead.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What to type instead, if there is anything to say.
    #[must_use]
    pub(crate) fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// Another place that has to do with it.
    #[must_use]
    pub(crate) fn related(mut self, place: Place, label: impl Into<String>) -> Self {
        self.related = Some(Box::new((place, label.into())));
        self
    }
}

/// Collects what is wrong, and what is worth saying, while a suite is read.
pub(crate) struct Issues {
    texts: Texts,
    profile: Option<String>,
    faults: RefCell<Vec<Fault>>,
    notes: RefCell<Vec<Note>>,
}

impl Issues {
    pub(crate) fn new(texts: Texts, profile: Option<String>) -> Self {
        Issues { texts, profile, faults: RefCell::default(), notes: RefCell::default() }
    }

    pub(crate) fn texts(&self) -> &Texts {
        &self.texts
    }

    /// Adds a fault, unless the same was told before: a default is read once for each test.
    pub(crate) fn add(&self, fault: Fault) {
        let mut faults = self.faults.borrow_mut();
        if !faults.iter().any(|f| f.place == fault.place && f.message == fault.message) {
            faults.push(fault);
        }
    }

    /// Adds a note for the plan, once.
    pub(crate) fn note(&self, code: &str, text: String) {
        let note = Note { level: NoteLevel::Info, code: code.to_owned(), text };
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    pub(crate) fn take_notes(&self) -> Vec<Note> {
        self.notes.take()
    }

    /// Who says what stands at a place.
    pub(crate) fn source(&self, origin: Origin, place: Place) -> Source {
        let (line, _) = self.texts.line_and_column(place);
        match origin {
            Origin::BuiltIn => Source::BuiltIn,
            Origin::Suite => Source::Suite { line },
            Origin::Profile => Source::Profile { name: self.profile.clone().unwrap_or_default(), line },
            Origin::Flag => Source::Flag { flag: self.texts.name(place).to_owned() },
        }
    }

    /// Whether nothing is wrong so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.faults.borrow().is_empty()
    }

    /// `Ok` when nothing is wrong.
    pub(crate) fn check(&self) -> Result<(), Diagnostics> {
        if self.is_clean() { Ok(()) } else { Err(Diagnostics::new(&self.texts, self.faults.take())) }
    }
}

/// Everything that is wrong with a suite and its overrides, in the order of the text. Never empty.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The suite's file name, or the argument that it is in: `--set`.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, with value and limit.
    pub message: String,
    /// What to type instead.
    pub help: Option<String>,
    fault: Fault,
    text: String,
    related_text: Option<(String, String)>,
}

impl Diagnostics {
    pub(crate) fn new(texts: &Texts, mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| fault.place);
        Diagnostics { list: faults.into_iter().map(|f| Diagnostic::new(texts, f)).collect() }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Always false: there is at least one.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Each of them, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// The text for people, with or without ANSI colours.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let mut out = String::new();
        for diagnostic in &self.list {
            out.push_str(&renderer.render(&[diagnostic.group()]));
            out.push_str("\n\n");
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
        out
    }

    /// Adds those of `other` that are not here yet.
    pub(crate) fn merge(&mut self, other: Diagnostics) {
        for diagnostic in other.list {
            let same = |d: &Diagnostic| {
                (&d.file, d.line, d.column, &d.message)
                    == (&diagnostic.file, diagnostic.line, diagnostic.column, &diagnostic.message)
            };
            if !self.list.iter().any(same) {
                self.list.push(diagnostic);
            }
        }
        self.list.sort_by_key(|d| d.fault.place);
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

impl std::error::Error for Diagnostics {}

impl Diagnostic {
    fn new(texts: &Texts, mut fault: Fault) -> Self {
        fault.place = texts.clamp(fault.place);
        let related_text = fault.related.as_mut().map(|related| {
            related.0 = texts.clamp(related.0);
            (texts.name(related.0).to_owned(), texts.content(related.0).to_owned())
        });
        let (line, column) = texts.line_and_column(fault.place);
        Diagnostic {
            file: texts.name(fault.place).to_owned(),
            line,
            column,
            message: fault.message.clone(),
            help: fault.help.clone(),
            text: texts.content(fault.place).to_owned(),
            related_text,
            fault,
        }
    }

    fn group(&self) -> Group<'_> {
        let Fault { place, label, related, .. } = &self.fault;
        let primary = AnnotationKind::Primary.span(place.start..place.end).label(label.as_deref());
        let mut snippet = Snippet::source(&self.text).path(&self.file).annotation(primary);
        let mut elsewhere = None;
        if let (Some((near, label)), Some((file, text))) = (related.as_deref(), &self.related_text) {
            let context = AnnotationKind::Context.span(near.start..near.end).label(label);
            if near.text == place.text {
                snippet = snippet.annotation(context);
            } else {
                elsewhere = Some(Snippet::source(text).path(file).annotation(context));
            }
        }
        let mut group = Level::ERROR.primary_title(&self.message).element(snippet);
        if let Some(elsewhere) = elsewhere {
            group = group.element(elsewhere);
        }
        match &self.help {
            Some(help) => group.element(Level::HELP.message(help)),
            None => group,
        }
    }
}

/// What may have been meant, if one of the words is near enough.
pub fn nearest<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let distance = |w: &&str| strsim::damerau_levenshtein(&word.to_lowercase(), &w.to_lowercase());
    let limit = 1.max(word.chars().count().min(30) / 3);
    let near = words.into_iter().map(|w| (distance(&w), w)).filter(|(d, _)| *d <= limit);
    near.min_by_key(|(d, _)| *d).map(|(_, w)| w)
}

/// Advice for a word that is none of those that may be: ours for one of another tool, the nearest, or all.
pub(crate) fn instead<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match foreign::translated(word, &words).or_else(|| nearest(word, words.iter().copied())) {
        Some(near) => format!("did you mean `{near}`?"),
        None if words.is_empty() => "there are none".to_owned(),
        None => format!("there {} {}", if words.len() == 1 { "is only" } else { "are" }, listed(&words)),
    }
}

/// `a`, `b`, `c`.
pub(crate) fn listed(words: &[&str]) -> String {
    words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_proposed_and_far_ones_are_not() {
        let words = ["block_size", "pattern", "mix"];
        assert_eq!(instead("block_siz", words), "did you mean `block_size`?");
        assert_eq!(instead("patern", words), "did you mean `pattern`?");
        assert_eq!(instead("Mix", words), "did you mean `mix`?");
        assert_eq!(instead("q", words), "there are `block_size`, `pattern`, `mix`");
        assert_eq!(instead("q", ["one"]), "there is only `one`");
        assert_eq!(instead("q", []), "there are none");
    }

    #[test]
    fn a_fault_told_twice_is_one() {
        let texts = Texts::new("a.toml", "abc\n", "");
        let issues = Issues::new(texts, None);
        let place = Place { text: 0, start: 0, end: 3 };
        issues.add(Fault::new(place, "wrong").help("x"));
        issues.add(Fault::new(place, "wrong"));
        issues.add(Fault::new(place, "other"));
        assert_eq!(issues.check().unwrap_err().len(), 2);
    }
}
