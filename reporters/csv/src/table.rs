//! Lines of a table whose columns are named where their cells are made.

use std::fmt::Display;

/// One line: names and cells, in order.
#[derive(Default)]
pub(crate) struct Line {
    names: Vec<String>,
    cells: Vec<String>,
}

impl Line {
    /// A cell.
    pub(crate) fn cell(&mut self, name: impl Into<String>, value: impl Display) {
        self.names.push(name.into());
        self.cells.push(value.to_string());
    }

    /// A cell that may be empty.
    pub(crate) fn optional(&mut self, name: impl Into<String>, value: Option<impl Display>) {
        self.names.push(name.into());
        self.cells.push(value.map(|value| value.to_string()).unwrap_or_default());
    }
}

/// The table of lines that all have the columns of `empty`, which is not shown itself.
pub(crate) fn table(empty: &Line, lines: impl Iterator<Item = Line>) -> String {
    let mut text = joined(&empty.names);
    for line in lines {
        debug_assert_eq!(line.names, empty.names);
        text += &joined(&line.cells);
    }
    text
}

fn joined(cells: &[String]) -> String {
    cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\r\n"
}

fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let line = |cells: [&str; 3]| {
            let mut line = Line::default();
            ["a", "b c", "d,e"].into_iter().zip(cells).for_each(|(name, cell)| line.cell(name, cell));
            line
        };
        let lines = [line(["1", "", "x y"]), line(["\"q\"", "1,5", "two\nlines"])];
        assert_eq!(
            table(&line(["", "", ""]), lines.into_iter()),
            "a,b c,\"d,e\"\r\n1,,x y\r\n\"\"\"q\"\"\",\"1,5\",\"two\nlines\"\r\n"
        );
    }
}
