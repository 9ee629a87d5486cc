//! What the options say, and what is refused with which words.

use iodyno_plugin::{Default, ErrorKind, Op, OpSet, StreamSpec, WorkloadInfo};

use crate::{create, lane, plugin};

/// The option at fault and the message.
fn refused(json: &str) -> (String, String) {
    told(create(json).map(|_| ()).unwrap_err())
}

fn told(error: iodyno_plugin::Error) -> (String, String) {
    assert_eq!(error.kind(), ErrorKind::Option);
    (error.option_name().unwrap().to_owned(), error.message().to_owned())
}

#[test]
fn defaults_are_those_that_the_tests_use() {
    let table: Vec<(&str, Default)> = plugin().options.iter().map(|o| (o.name, o.default)).collect();
    assert_eq!(
        table,
        [
            ("mix", Default::Is("{ read = 100 }")),
            ("block_size", Default::Is("\"4k\"")),
            ("pattern", Default::Is("\"random\"")),
            ("slices", Default::Is("false")),
            ("stride", Default::Absent),
            ("distribution", Default::Is("\"uniform\"")),
            ("theta", Default::Absent),
            ("align", Default::Absent),
            ("passes", Default::Absent),
        ]
    );
    assert!(plugin().options.iter().all(|option| option.doc.ends_with('.')));
}

#[test]
fn info_tells_what_will_be_asked_for() {
    let info = |json: &str| create(json).unwrap().info();
    let read = WorkloadInfo {
        ops: OpSet::READ,
        max_len: 4096,
        granule: 4096,
        wants_completions: false,
        passes: None,
    };
    assert_eq!(info("{}"), read);
    let sizes = r#"[{"value":6144,"weight":1.0},{"value":16384,"weight":2.5},{"value":512,"weight":0}]"#;
    let mixed = info(&format!(
        r#"{{"mix":{{"write":60,"flush":40,"read":0}},"block_size":{sizes},"pattern":"sequential","passes":3}}"#
    ));
    let ops = OpSet::EMPTY.with(Op::Write).with(Op::Flush);
    assert_eq!(mixed, WorkloadInfo { ops, max_len: 16_384, granule: 2048, passes: Some(3), ..read });
    assert_eq!(info(r#"{"align":512}"#).granule, 512);
    assert_eq!(info(r#"{"align":1048576}"#).granule, 4096);
}

#[test]
fn percentages_must_add_up() {
    let text = |json| {
        let (option, text) = refused(json);
        assert_eq!(option, "mix");
        text
    };
    assert_eq!(
        text(r#"{"mix":{"read":70,"write":20}}"#),
        "read 70 + write 20 is 90 percent together, must be 100"
    );
    assert_eq!(
        text(r#"{"mix":{"read":33.3,"write":33.3,"flush":33.3}}"#),
        "read 33.3 + write 33.3 + flush 33.3 is 99.9 percent together, must be 100"
    );
    assert_eq!(text(r#"{"mix":{}}"#), "nothing is 0 percent together, must be 100");
    assert_eq!(
        text(r#"{"mix":{"read":120,"write":-20}}"#),
        "read = 120 is no percentage: it must be within 0 and 100"
    );
    assert!(create(r#"{"mix":{"read":33.3,"write":33.3,"flush":33.4}}"#).is_ok());
    assert!(create(r#"{"mix":{"read":99.999,"write":0.001}}"#).is_ok());
}

#[test]
fn sizes_are_checked() {
    let bad = [
        (r#"[]"#, "at least one size with a weight above 0"),
        (r#"[{"value":4096,"weight":0.0}]"#, "at least one size with a weight above 0"),
        (r#"[{"value":0,"weight":1.0}]"#, "is not within 1 and 1073741824 bytes"),
        (r#"[{"value":2147483648,"weight":1.0}]"#, "is not within 1 and 1073741824 bytes"),
        (r#"[{"value":4096,"weight":-1.0}]"#, "the weight -1 of 4096 bytes"),
    ];
    for (sizes, expected) in bad {
        let (option, text) = refused(&format!(r#"{{"block_size":{sizes}}}"#));
        assert!(option == "block_size" && text.contains(expected), "{option}: {text}");
    }
}

#[test]
fn options_that_have_no_meaning_together_are_refused() {
    let bad = [
        (r#"{"stride":8192}"#, "stride", "has a meaning only with pattern = \"strided\""),
        (r#"{"pattern":"strided"}"#, "stride", "needs it: for example stride = 65536"),
        (
            r#"{"pattern":"strided","stride":2048}"#,
            "stride",
            "2048 bytes are less than the block size of 4096",
        ),
        (r#"{"pattern":"strided","stride":10000}"#, "stride", "block size of 4096: 12288 would be"),
        (r#"{"theta":0.9}"#, "theta", "has a meaning only with distribution = \"zipf\""),
        (r#"{"distribution":"zipf","theta":0.0}"#, "theta", "0 is not within 0.01 and 10"),
        (
            r#"{"pattern":"sequential","distribution":"zipf"}"#,
            "distribution",
            "only with pattern = \"random\"",
        ),
        (r#"{"pattern":"sequential","align":512}"#, "align", "only with pattern = \"random\""),
        (r#"{"mix":{"flush":100},"passes":1}"#, "passes", "flushes alone never cover a region"),
        (r#"{"passes":0}"#, "passes", "0 is not within 1 and 4294967295"),
    ];
    for (json, option, expected) in bad {
        let (at, text) = refused(json);
        assert!(at == option && text.contains(expected), "{json}: {at}: {text}");
    }
}

#[test]
fn a_region_or_target_that_cannot_do_it_is_refused() {
    let error =
        |json: &str, spec: &StreamSpec| told(create(json).unwrap().stream(spec).map(|_| ()).unwrap_err());
    let big = lane(1, 1 << 20);
    assert_eq!(
        error("{}", &lane(1, 4095)),
        ("block_size".into(), "a block of 4096 bytes does not fit into the region of 3584 bytes: use smaller blocks or a larger region".into())
    );
    let (option, text) = error(r#"{"slices":true}"#, &StreamSpec { lane: 0, lanes: 300, ..big });
    assert!(option == "slices" && text.contains("each of 300 workers a slice"), "{option}: {text}");
    let (option, text) = error(r#"{"mix":{"write":100}}"#, &StreamSpec { ops: OpSet::READ, ..big });
    assert_eq!((option.as_str(), text.as_str()), ("mix", "this target takes no write: leave it out"));
    let (option, text) = error("{}", &StreamSpec { max_len: 2048, ..big });
    assert_eq!(
        (option.as_str(), text.as_str()),
        ("block_size", "4096 bytes are more than the 2048 that one request may have: use smaller blocks")
    );
    let (option, text) = error(r#"{"align":512}"#, &StreamSpec { granule: 4096, ..big });
    assert!(option == "block_size" && text.contains("multiples of 512 bytes"), "{option}: {text}");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let json = r#"{ "mix": { "read": 70, "write": 40 }, "block_size": "4k", "pattern": "sequential",
        "stride": "8k", "theta": 0.9, "align": "4k", "passes": 0 }"#;
    let error = create(json).map(|_| ()).unwrap_err();
    let options: Vec<_> = error.all().filter_map(iodyno_plugin::Error::option_name).collect();
    assert_eq!(options, ["mix", "stride", "theta", "align", "passes"]);
}
