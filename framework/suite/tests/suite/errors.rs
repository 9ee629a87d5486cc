//! What people see when a suite is wrong. The suites and what is said about them lie side by side in `bad`;
//! `INSTA_UPDATE=always` writes the latter.

use iodyno_suite::{Overrides, Suite, plan};

use crate::catalog::{Made, facts};

/// Compares all that is said about a suite on a target of 1 GiB.
fn assert_told(name: &str, text: &str, overrides: &Overrides) {
    let planned = Suite::parse(&format!("{name}.toml"), text)
        .and_then(|suite| plan(&suite, overrides, &[facts(1 << 30)], &Made, 1));
    let told = planned.expect_err("the suite is wrong").render(false);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("bad");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, told));
}

/// One test for each bad suite.
macro_rules! bad {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                let text = include_str!(concat!("bad/", stringify!($name), ".toml"));
                assert_told(stringify!($name), text, &Overrides::default());
            }
        )*
    };
}

bad! {
    syntax,
    version,
    fields,
    plugins,
    expectations,
    names,
    targets,
    memory,
    backends,
    backends_in_memory,
    foreign_words,
    preparations,
    does_not_fit,
    not_yet,
}

#[test]
fn profile() {
    let overrides = Overrides { profile: Some("quick".to_owned()), ..Overrides::default() };
    assert_told("profile", include_str!("bad/profile.toml"), &overrides);
}

#[test]
fn command_line() {
    let overrides = Overrides {
        profile: Some("quik".to_owned()),
        set: [
            "defaults.bakend=fast",
            "test.b.region=5%",
            "test.a.workload.block_size=4q",
            "test.a.load.outstanding=many",
            "tests.a.region=5%",
            "test.a.region",
        ]
        .map(str::to_owned)
        .into(),
        targets: vec!["DUT-2=/dev/sdx".to_owned(), "/dev/sdy".to_owned()],
        size: Some("1.3k".to_owned()),
        seed: Some(1 << 53),
    };
    assert_told("command_line", include_str!("bad/command_line.toml"), &overrides);
}
