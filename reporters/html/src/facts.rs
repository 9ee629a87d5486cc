//! Tables of facts: one row a fact, one column a run; rows in which runs differ are marked.

use crate::escape::Html;
use crate::words::NOTHING;

/// A table in the making.
#[derive(Default)]
pub(crate) struct Facts(Vec<(String, Vec<Option<String>>)>);

impl Facts {
    /// Adds a row with one value per run. A row without any value is left out. A value may have several lines.
    pub(crate) fn row(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<String>>) {
        let values: Vec<Option<String>> = values.into_iter().collect();
        if values.iter().any(Option::is_some) {
            self.0.push((name.into(), values));
        }
    }

    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the table; `labels` are the runs, and a head appears when there are several.
    pub(crate) fn write(&self, out: &mut Html, name: &str, labels: &[&str]) {
        scroll(out, name);
        out.raw("<table class=\"facts\">");
        if labels.len() > 1 {
            out.raw("<thead><tr><td></td>");
            labels.iter().for_each(|label| {
                out.raw("<th scope=\"col\">").text(label).raw("</th>");
            });
            out.raw("</tr></thead>");
        }
        out.raw("<tbody>");
        for (name, values) in &self.0 {
            let differs = values.iter().any(|v| *v != values[0]);
            out.raw(if differs { "<tr class=\"differs\">" } else { "<tr>" });
            out.raw("<th scope=\"row\">").text(name).raw("</th>");
            for value in values {
                out.raw("<td>").text(value.as_deref().unwrap_or(NOTHING)).raw("</td>");
            }
            out.raw("</tr>");
        }
        out.raw("</tbody></table></div>");
    }
}

/// Opens the container in which a table scrolls by itself, by keyboard too.
pub(crate) fn scroll(out: &mut Html, name: &str) {
    out.raw("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"").text(name).raw("\">");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_differ_are_marked_and_empty_ones_left_out() {
        let mut facts = Facts::default();
        facts.row("kernel", [Some("6.12".to_owned()), Some("6.1".to_owned())]);
        facts.row("cpu", [Some("x".to_owned()), Some("x".to_owned())]);
        facts.row("wwn", [None, None]);
        let mut out = Html::default();
        facts.write(&mut out, "machine", &["a", "b"]);
        let text = out.as_str();
        assert!(text.contains("<tr class=\"differs\"><th scope=\"row\">kernel</th>"), "{text}");
        assert!(text.contains("<tr><th scope=\"row\">cpu</th>"), "{text}");
        assert!(!text.contains("wwn"), "{text}");
    }
}
