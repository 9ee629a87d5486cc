//! Text from the record never becomes markup: [`Html`] takes markup as constants only, everything else is
//! escaped on the way in.

use std::fmt::{self, Display, Write};

/// A piece of the page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Html(String);

impl Html {
    /// Markup of our own.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, escaped for content and for attributes in double quotes.
    pub(crate) fn text(&mut self, text: impl Display) -> &mut Self {
        write!(Escaping(&mut self.0), "{text}").expect("writing to memory does not fail");
        self
    }

    /// `<name class="class">text</name>`.
    pub(crate) fn element(
        &mut self,
        name: &'static str,
        class: &'static str,
        text: impl Display,
    ) -> &mut Self {
        self.raw("<").raw(name);
        if !class.is_empty() {
            self.raw(" class=\"").raw(class).raw("\"");
        }
        self.raw(">").text(text).raw("</").raw(name).raw(">")
    }

    /// Text in which backticks mark code.
    pub(crate) fn prose(&mut self, text: &str) -> &mut Self {
        let parts: Vec<&str> = text.split('`').collect();
        // An odd number of backticks marks nothing.
        let marks = parts.len() % 2 == 1;
        for (i, part) in parts.iter().enumerate() {
            match i % 2 {
                1 if marks => self.element("code", "", part),
                _ if i > 0 && !marks => self.raw("`").text(part),
                _ => self.text(part),
            };
        }
        self
    }

    /// JSON as the content of a `<script>`: no `<` stays, so neither `</script` nor `<!--` can end it early.
    pub(crate) fn json(&mut self, json: &str) -> &mut Self {
        self.0.push_str(&json.replace('<', "\\u003c"));
        self
    }

    /// The bytes.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

struct Escaping<'a>(&'a mut String);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(c),
                c if c.is_control() => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let mut html = Html::default();
        html.raw("<p title=\"").text("a\"b'c").raw("\">").text("<img src=x onerror=alert(1)>&\0").raw("</p>");
        assert_eq!(
            html.as_str(),
            "<p title=\"a&quot;b&#39;c\">&lt;img src=x onerror=alert(1)&gt;&amp;\u{fffd}</p>"
        );
    }

    #[test]
    fn json_cannot_end_its_script() {
        let label = "</script><!--<script>";
        let mut html = Html::default();
        html.json(&serde_json::to_string(label).unwrap());
        assert!(!html.as_str().contains('<'), "{}", html.as_str());
        assert_eq!(serde_json::from_str::<String>(html.as_str()).unwrap(), label);
    }

    #[test]
    fn backticks_mark_code() {
        let mut html = Html::default();
        html.prose("run `a<b` now").raw("|").prose("one ` alone");
        assert_eq!(html.as_str(), "run <code>a&lt;b</code> now|one ` alone");
    }

    #[test]
    fn an_element_escapes_its_text() {
        let mut html = Html::default();
        html.element("td", "n", "<1").element("b", "", 2);
        assert_eq!(html.as_str(), "<td class=\"n\">&lt;1</td><b>2</b>");
    }
}
