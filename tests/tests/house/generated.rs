//! Generated files are committed, so that a change of the interface is seen as such; each is compared here
//! with what the code says now.

use std::fs;

use crate::tree;

/// Compares a committed file with what it must be, or writes it when `tests/bless` asks for that.
pub(crate) fn check(path: &str, fresh: &str) {
    let place = tree::root().join(path);
    let kept = fs::read_to_string(&place).unwrap_or_default();
    let Some(difference) = first_difference(&kept, fresh) else { return };
    if blessing() {
        fs::create_dir_all(place.parent().expect("a file lies in a folder")).expect("the folder can be made");
        fs::write(&place, fresh).expect("the file can be written");
    } else {
        panic!("{path} is out of date: {difference}\nIf the change is meant, run tests/bless and commit it");
    }
}

/// Whether generated files and ratchets are to be brought up to date instead of compared.
pub(crate) fn blessing() -> bool {
    std::env::var_os("IODYNO_BLESS").is_some()
}

fn first_difference(kept: &str, fresh: &str) -> Option<String> {
    if kept == fresh {
        return None;
    }
    let same = kept.lines().zip(fresh.lines()).take_while(|(a, b)| a == b).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(nothing)").to_owned();
    Some(format!("line {} is `{}`, must be `{}`", same + 1, line(kept), line(fresh)))
}

#[test]
fn a_stale_file_is_seen() {
    assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
    assert_eq!(first_difference("a\nb\n", "a\nc\n").unwrap(), "line 2 is `b`, must be `c`");
    assert_eq!(first_difference("", "a\n").unwrap(), "line 1 is `(nothing)`, must be `a`");
    assert!(first_difference("a", "a\n").is_some());
}
