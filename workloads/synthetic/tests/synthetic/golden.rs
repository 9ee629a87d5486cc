//! Sequences that must never change: a recorded seed has to replay the same I/O for ever.

use iodyno_plugin::StreamSpec;

use crate::{lane, requests, stream, text};

const REGION: u64 = 1 << 30;

/// Name, options, the first 16 requests of one lane with seed 42.
const PATTERNS: &[(&str, &str, &[&str])] = &[
    (
        "random",
        r#"{}"#,
        &[
            "r4096@732495872 r4096@566968320 r4096@523501568 r4096@793264128",
            "r4096@1503232 r4096@884998144 r4096@813223936 r4096@896954368",
            "r4096@533147648 r4096@776998912 r4096@785776640 r4096@299786240",
            "r4096@108081152 r4096@1061625856 r4096@911073280 r4096@125513728",
        ],
    ),
    (
        "random in odd blocks",
        r#"{"block_size":[{"value":1536,"weight":1.0}]}"#,
        &[
            "r1536@732498432 r1536@566971392 r1536@523501056 r1536@793264128",
            "r1536@1502208 r1536@885000192 r1536@813224448 r1536@896956416",
            "r1536@533150208 r1536@777000960 r1536@785777664 r1536@299787264",
            "r1536@108080640 r1536@1061627904 r1536@911075328 r1536@125515776",
        ],
    ),
    (
        "random, not aligned to its size",
        r#"{"align":512}"#,
        &[
            "r4096@732496896 r4096@566969856 r4096@523500032 r4096@793263104",
            "r4096@1503232 r4096@884998144 r4096@813222912 r4096@896954880",
            "r4096@533149184 r4096@776999936 r4096@785776128 r4096@299787264",
            "r4096@108080640 r4096@1061625344 r4096@911073280 r4096@125515264",
        ],
    ),
    (
        "random mix of sizes",
        r#"{"mix":{"read":65.0,"write":34.0,"flush":1.0},
            "block_size":[{"value":4096,"weight":3.0},{"value":65536,"weight":1.0}]}"#,
        &[
            "r4096@732495872 r65536@566935552 r4096@523501568 r65536@793219072",
            "r4096@1503232 r65536@884948992 w4096@813223936 w65536@896905216",
            "r4096@533147648 r4096@776998912 r4096@785776640 w4096@299786240",
            "w4096@108081152 w4096@1061625856 w4096@911073280 w4096@125513728",
        ],
    ),
    (
        "zipf 0.5",
        r#"{"distribution":"zipf","theta":0.5}"#,
        &[
            "r4096@546709504 r4096@1748992 r4096@592928768 r4096@290213888",
            "r4096@723369984 r4096@331173888 r4096@1034956800 r4096@685834240",
            "r4096@599674880 r4096@829804544 r4096@897306624 r4096@774885376",
            "r4096@306319360 r4096@104992768 r4096@552439808 r4096@730460160",
        ],
    ),
    (
        "zipf",
        r#"{"distribution":"zipf"}"#,
        &[
            "r4096@960466944 r4096@944046080 r4096@193568768 r4096@4923392",
            "r4096@592928768 r4096@290213888 r4096@750080000 r4096@673550336",
            "r4096@667992064 r4096@452624384 r4096@363565056 r4096@600489984",
            "r4096@750080000 r4096@104083456 r4096@193568768 r4096@283680768",
        ],
    ),
    (
        "zipf 1.0",
        r#"{"distribution":"zipf","theta":1.0}"#,
        &[
            "r4096@266448896 r4096@944046080 r4096@193568768 r4096@4923392",
            "r4096@592928768 r4096@290213888 r4096@496254976 r4096@673550336",
            "r4096@1462272 r4096@452624384 r4096@363565056 r4096@600489984",
            "r4096@750080000 r4096@104083456 r4096@193568768 r4096@283680768",
        ],
    ),
    (
        "zipf of several sizes",
        r#"{"distribution":"zipf","theta":1.2,"mix":{"read":50.0,"write":50.0},
            "block_size":[{"value":8192,"weight":1.0},{"value":16384,"weight":1.0}]}"#,
        &[
            "r8192@672374784 w16384@387137536 w8192@387137536 r16384@222838784",
            "w8192@387137536 r16384@383983616 w8192@387137536 w16384@672374784",
            "r8192@929751040 r16384@275554304 r8192@529276928 w8192@535977984",
            "w8192@835428352 w8192@387137536 w8192@535977984 w16384@140230656",
        ],
    ),
    (
        "sequential",
        r#"{"pattern":"sequential","mix":{"write":100.0},"block_size":[{"value":131072,"weight":1.0}]}"#,
        &[
            "w131072@0 w131072@131072 w131072@262144 w131072@393216",
            "w131072@524288 w131072@655360 w131072@786432 w131072@917504",
            "w131072@1048576 w131072@1179648 w131072@1310720 w131072@1441792",
            "w131072@1572864 w131072@1703936 w131072@1835008 w131072@1966080",
        ],
    ),
    (
        "sequential mix of sizes",
        r#"{"pattern":"sequential","mix":{"write":80.0,"flush":20.0},
            "block_size":[{"value":4096,"weight":1.0},{"value":12288,"weight":1.0}]}"#,
        &[
            "w4096@0 w12288@4096 w4096@16384 w12288@20480",
            "w4096@32768 w12288@36864 f0@0 w12288@49152",
            "f0@0 w4096@61440 w12288@65536 w4096@77824",
            "f0@0 w12288@81920 w12288@94208 w12288@106496",
        ],
    ),
    (
        "strided",
        r#"{"pattern":"strided","stride":134217728,"block_size":[{"value":65536,"weight":1.0}]}"#,
        &[
            "r65536@0 r65536@134217728 r65536@268435456 r65536@402653184",
            "r65536@536870912 r65536@671088640 r65536@805306368 r65536@939524096",
            "r65536@65536 r65536@134283264 r65536@268500992 r65536@402718720",
            "r65536@536936448 r65536@671154176 r65536@805371904 r65536@939589632",
        ],
    ),
];

#[test]
fn sequences_are_what_they_have_always_been() {
    for (name, options, golden) in PATTERNS {
        let first = text(&requests(&mut *stream(options, &lane(42, REGION)), 16, 16));
        assert_eq!(first, *golden, "{name}: {options}");
    }
}

#[test]
fn sequences_do_not_depend_on_how_many_are_asked_for() {
    for (name, options, _) in PATTERNS {
        let of = |batch| requests(&mut *stream(options, &lane(7, 3 << 20)), 5000, batch);
        let ones = of(1);
        assert_eq!(ones.len(), 5000);
        for batch in [7, 64, 1000] {
            assert!(ones == of(batch), "{name}: in batches of {batch}");
        }
    }
}

#[test]
fn another_seed_is_another_sequence_and_so_is_another_lane() {
    for (name, options, _) in PATTERNS {
        let of = |seed, number| {
            let spec = StreamSpec { lane: number, lanes: 4, ..lane(seed, REGION) };
            requests(&mut *stream(options, &spec), 64, 64)
        };
        assert!(of(1, 0) == of(1, 0), "{name}");
        // Where nothing is drawn, there is but one order, and the first lane to come begins it.
        let drawn = !matches!(*name, "sequential" | "strided");
        assert_eq!(of(1, 0) != of(2, 0), drawn, "{name}: seeds");
        assert_eq!(of(1, 0) != of(1, 1), drawn, "{name}: lanes");
    }
}
