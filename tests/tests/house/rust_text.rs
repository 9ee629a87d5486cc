//! Rust source with comments and literals blanked out, so that rules look at code only.

/// The same text with the inside of comments, strings and characters replaced by spaces. Lines stay lines.
pub(crate) fn code_only(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let previous = out.chars().next_back().unwrap_or(' ');
        let blanked = literal_or_comment(rest, previous);
        if blanked > 0 {
            out.extend(rest[..blanked].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[blanked..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// Bytes of the comment or literal at the front of `rest`; 0 = there is none.
fn literal_or_comment(rest: &str, previous: char) -> usize {
    let in_a_word = previous.is_alphanumeric() || previous == '_';
    if rest.starts_with("//") {
        rest.find('\n').unwrap_or(rest.len())
    } else if rest.starts_with("/*") {
        block_comment(rest)
    } else if let Some(inside) = rest.strip_prefix('"') {
        1 + quoted(inside, '"')
    } else if !in_a_word && (rest.starts_with("r\"") || rest.starts_with("r#")) {
        raw_string(rest)
    } else if rest.starts_with('\'') {
        character(rest)
    } else {
        0
    }
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let here = &rest[at..];
        match () {
            () if here.starts_with("/*") => (depth, at) = (depth + 1, at + 2),
            () if here.starts_with("*/") => (depth, at) = (depth - 1, at + 2),
            () => at += here.chars().next().map_or(1, char::len_utf8),
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Bytes up to and including the closing quote.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    rest.len()
}

fn raw_string(rest: &str) -> usize {
    let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
    if !rest[1 + hashes..].starts_with('"') {
        return 0; // a raw identifier
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let start = 2 + hashes;
    rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len())
}

/// A character literal; a lifetime is none.
fn character(rest: &str) -> usize {
    let mut inside = rest[1..].chars();
    match (inside.next(), inside.next()) {
        (Some('\\'), _) => 1 + quoted(&rest[1..], '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

/// The identifiers and keywords of a line of code or text.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// A name in snake case, whatever case it has: `QueueDepth` and `QUEUE_DEPTH` become `queue_depth`.
pub(crate) fn snake(name: &str) -> String {
    let shouted = !name.chars().any(char::is_lowercase);
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_uppercase() && !shouted && !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[test]
fn names_become_snake_case() {
    let names = ["QueueDepth", "QUEUE_DEPTH", "queue_depth", "IoUtils", "x"].map(snake);
    assert_eq!(names, ["queue_depth", "queue_depth", "queue_depth", "io_utils", "x"]);
}

#[test]
fn comments_and_literals_vanish_and_code_stays() {
    let text = "let a = \"x // y \\\" z\"; // note\nlet b = 'q'; let c: &'static str = r#\"raw \" \"#; /* a /* b */ c */ let d = r#type;\n";
    let code = code_only(text);
    assert_eq!(code.len(), text.len());
    let kept: Vec<&str> = words(&code).collect();
    assert_eq!(kept, ["let", "a", "let", "b", "let", "c", "static", "str", "let", "d", "r", "type"]);
    assert_eq!(code_only("'\\'' unsafe"), "     unsafe");
    assert_eq!(code_only("b\"unsafe\" x\n\"two\nlines\" y"), "b         x\n    \n       y");
}
