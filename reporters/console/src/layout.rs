//! Columns and paragraphs.

/// Longest line of a paragraph, characters.
const WIDTH: usize = 100;

/// How a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Lines with their columns as wide as the widest cell, two spaces apart. Lines may be shorter than others.
pub(crate) fn columns(sides: &[Side], lines: &[Vec<String>]) -> String {
    let width = |i: usize| lines.iter().filter_map(|l| l.get(i)).map(|c| chars(c)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..sides.len()).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut padded = String::new();
        for ((cell, side), width) in line.iter().zip(sides).zip(&widths) {
            let space = " ".repeat(width - chars(cell));
            match side {
                Side::Left => padded += &format!("{cell}{space}  "),
                Side::Right => padded += &format!("{space}{cell}  "),
            }
        }
        text += &format!("{}\n", format!("  {padded}").trim_end());
    }
    text
}

/// A paragraph behind a mark, wrapped and indented as one block.
pub(crate) fn paragraph(mark: &str, content: &str) -> String {
    let indent = 2 + chars(mark) + 1;
    let mut text = format!("  {mark}");
    let mut column = indent - 1;
    for word in content.split_whitespace() {
        if column + 1 + chars(word) > WIDTH && column >= indent {
            text += &format!("\n{}", " ".repeat(indent - 1));
            column = indent - 1;
        }
        text += &format!(" {word}");
        column += 1 + chars(word);
    }
    text + "\n"
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let lines = [vec!["a", "1"], vec!["µs", "1000", "x"], vec![], vec!["b"]];
        let lines = lines.map(|line| line.into_iter().map(str::to_owned).collect());
        assert_eq!(
            columns(&[Side::Left, Side::Right, Side::Left], &lines),
            "  a      1\n  µs  1000  x\n\n  b\n"
        );
    }

    #[test]
    fn paragraphs_are_wrapped_between_words() {
        let text = paragraph("!", &"word ".repeat(40));
        assert!(text.lines().all(|line| chars(line) <= WIDTH));
        assert!(text.lines().all(|line| line.starts_with("  ! word") || line.starts_with("    word")));
        assert_eq!(text.matches("word").count(), 40);
        let long = "x".repeat(200);
        assert_eq!(paragraph("!", &long), format!("  ! {long}\n"), "a word alone is never broken");
    }
}
