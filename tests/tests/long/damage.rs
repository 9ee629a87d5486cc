//! A damaged suite file is a valid one or an error that points to its place: never a panic, never a hang.

use std::fs;
use std::path::Path;

use iodyno_plugin::random::Random;
use iodyno_tests::long::Sample;
use iodyno_tests::{Ended, Folder};

/// What a tired person, a merge or a broken disk puts into a file.
const PIECES: &[&str] = &[
    "0",
    "-1",
    "1e999",
    "18446744073709551616",
    "\"\"",
    "\"4k",
    "\"0k\"",
    "\"3k\"",
    "\"101%\"",
    "\"9..1\"",
    "[]",
    "[[",
    "{",
    "}",
    "=",
    "\n",
    "[[test]]\n",
    "[profile.x]\n",
    "true",
    "nan",
    "\"\u{0}\"",
    "\u{feff}",
    "\u{1f4a9}",
    "''",
    "#",
    "read",
    "write",
    "outstanding",
    "{name}",
    "schema = 2\n",
    "\"1000000000000TB\"",
    "1979-05-27T07:32:00Z",
];

/// A suite with one to four damages. In every second they are such that much is still good TOML, and somebody has
/// to look at what it means.
fn damage(text: &str, random: &mut Random) -> String {
    if random.below(2) == 0 {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..=random.below(3) {
            damage_line(&mut lines, random);
        }
        return lines.join("\n");
    }
    let mut text: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(3) {
        let place = |random: &mut Random, text: &[char]| random.below(text.len() as u64 + 1) as usize;
        let (at, length) = (place(random, &text), random.below(24) as usize);
        let end = (at + length).min(text.len());
        match random.below(5) {
            0 => drop(text.drain(at..end)),
            1 => text.truncate(at.max(1)),
            2 => {
                let again: Vec<char> = text[at..end].to_vec();
                let to = place(random, &text);
                text.splice(to..to, again);
            }
            3 => {
                let piece = PIECES[random.below(PIECES.len() as u64) as usize];
                text.splice(at..end, piece.chars());
            }
            _ => replace_value(&mut text, random),
        }
    }
    text.into_iter().collect()
}

fn damage_line(lines: &mut Vec<String>, random: &mut Random) {
    let mut place = || random.below(lines.len() as u64) as usize;
    let (at, other) = (place(), place());
    match random.below(5) {
        0 => drop(lines.remove(at)),
        1 => lines.swap(at, other),
        2 => lines.insert(at, lines[other].clone()),
        _ => {
            let mut line: Vec<char> = lines[at].chars().collect();
            replace_value(&mut line, random);
            lines[at] = line.into_iter().collect();
        }
    }
}

/// Puts a piece in the place of what follows an equals sign: such files are often good TOML and bad suites.
fn replace_value(text: &mut Vec<char>, random: &mut Random) {
    let signs: Vec<usize> = text.iter().enumerate().filter(|(_, c)| **c == '=').map(|(i, _)| i).collect();
    if signs.is_empty() {
        return;
    }
    let start = signs[random.below(signs.len() as u64) as usize] + 1;
    let length = text[start..].iter().take_while(|c| !matches!(c, ',' | '\n' | '}')).count();
    let piece = PIECES[random.below(PIECES.len() as u64) as usize];
    text.splice(start..start + length, format!(" {piece} ").chars());
}

fn examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let files =
        fs::read_dir(folder).expect("there are examples").map(|entry| entry.expect("readable").path());
    let mut suites: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    suites.sort();
    suites.iter().map(|path| fs::read_to_string(path).expect("readable")).collect()
}

/// A suite that is refused, is refused with the places of its faults.
fn must_be_located(ended: &Ended, text: &str) {
    ended.says("error");
    let located = ended.err.lines().any(|line| line.contains("damaged.toml:"));
    assert!(located, "no place in the file\n{ended}\n--- file\n{text}");
}

#[test]
fn damaged_suites() {
    let examples = examples();
    let folder = Folder::new();
    let (mut refused, mut planned) = (0, 0);
    Sample::take(100).run("damaged_suites", |seed| {
        let mut random = Random::new(seed);
        let original = &examples[random.below(examples.len() as u64) as usize];
        let text = damage(original, &mut random);
        folder.file("damaged.toml", &text);
        let ended = folder.run("check damaged.toml");
        match ended.code {
            Some(0) => {}
            Some(2) => {
                refused += 1;
                return must_be_located(&ended, &text);
            }
            _ => panic!("{ended}\n--- file\n{text}"),
        }
        // Nothing is wrong with the text. It may still not fit its target.
        let ended = folder.run("run damaged.toml --dry-run");
        match ended.code {
            Some(0) => planned += 1,
            Some(2) => must_be_located(&ended, &text),
            Some(3) => _ = ended.says("error"),
            _ => panic!("{ended}\n--- file\n{text}"),
        }
    });
    println!("damaged_suites: {refused} refused by their text, {planned} good enough to be planned");
}
