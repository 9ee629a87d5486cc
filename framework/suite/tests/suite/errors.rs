//! What people see when a suite is wrong.

use insta::assert_snapshot;
use iodyno_suite::{Overrides, Suite, plan};

use crate::catalog::{Made, facts};

/// All that is said about a suite on a target of 1 GiB.
fn told(text: &str, overrides: &Overrides) -> String {
    let planned = Suite::parse("suite.toml", text)
        .and_then(|suite| plan(&suite, overrides, &[facts(1 << 30)], &Made, 1));
    planned.expect_err("the suite is wrong").render(false)
}

#[test]
fn syntax_stops_at_the_first_fault() {
    let text = r#"schema = 1
[[test]
name = "a"
"#;
    assert_snapshot!(told(text, &Overrides::default()), @r#"
    error: this is no TOML: unclosed array table, expected `]`
     --> suite.toml:2:8
      |
    2 | [[test]
      |        ^
    "#);
}

#[test]
fn the_version_of_the_format_comes_first() {
    let text = r#"[suite]
nmae = "old"
"#;
    assert_snapshot!(told(text, &Overrides::default()), @r#"
    error: the suite does not say which version of the format it has
     --> suite.toml:1:1
      |
    1 | [suite]
      | ^
      |
      = help: begin the file with schema = 1
    "#);
}

#[test]
fn fields_and_types() {
    let text = r#"schema = 1

[suite]
name = "first"
descripton = "one"

[defaults]
direct = "yes"
region = "125%"
interval = "5ms"
phases = { warmup = 10, measure = "60s" }
outstanding = 4
block_size = "4k"

[[test]]
name = "a"
workload = "synthetic"
load = { outstanding = 0, workers = "2" }

[test.stream]
name = "data"
"#;
    assert_snapshot!(told(text, &Overrides::default()), @r#"
    error: unknown field `descripton` in `suite`
     --> suite.toml:5:1
      |
    5 | descripton = "one"
      | ^^^^^^^^^^ unknown field
      |
      = help: did you mean `description`?

    error: `direct` is the text "yes", must be true or false
     --> suite.toml:8:10
      |
    8 | direct = "yes"
      |          ^^^^^

    error: `region`: "125%" is not within 0 and 100 %
     --> suite.toml:9:10
      |
    9 | region = "125%"
      |          ^^^^^^

    error: `interval` is "5ms", must be within 10ms and 1m
      --> suite.toml:10:12
       |
    10 | interval = "5ms"
       |            ^^^^^

    error: `warmup`: 10 is a time without a unit
      --> suite.toml:11:21
       |
    11 | phases = { warmup = 10, measure = "60s" }
       |                     ^^
       |
       = help: write "10s" for seconds, "10ms" for milliseconds

    error: unknown field `outstanding` in `defaults`
      --> suite.toml:12:1
       |
    12 | outstanding = 4
       | ^^^^^^^^^^^ unknown field
       |
       = help: it belongs into `load`: load = { outstanding = .. }

    error: unknown field `block_size` in `defaults`
      --> suite.toml:13:1
       |
    13 | block_size = "4k"
       | ^^^^^^^^^^ unknown field
       |
       = help: there are `backend`, `direct`, `buffers`, `region`, `phases`, `streams`, `interval`, `workload`, `load`; options of a workload go into it: workload = { plugin = .., .. }

    error: `outstanding` is 0, must be within 1 and 65536
      --> suite.toml:18:24
       |
    18 | load = { outstanding = 0, workers = "2" }
       |                        ^

    error: `workers` is the text "2", must be a whole number
      --> suite.toml:18:37
       |
    18 | load = { outstanding = 0, workers = "2" }
       |                                     ^^^
       |
       = help: write 2 without quotes

    error: `stream` is a table, must be a list
      --> suite.toml:20:1
       |
    20 | [test.stream]
       | ^^^^^^^^^^^^^
       |
       = help: write its name in double brackets, as in [[test]]
    "#);
}

#[test]
fn plugins_and_their_options() {
    let text = r#"schema = 1

[[test]]
name = "a"
workload = { plugin = "sythetic", mix = { read = 100 } }

[[test]]
name = "b"
backend = { plugin = "memory", servers = 0, rate = "50", hot = "2 GB/s" }
workload = { plugin = "synthetic", mix = { raed = 100 }, block_siz = "4k", pattern = "radom" }

[[test]]
name = "c"
backend = { plugin = "auto", polled = true }
workload = { plugin = "synthetic", mix = { read = 50 }, block_size = [{ size = "4q", weight = -1 }, "8k"] }

[[test]]
name = "d"
workload = { plugin = "strict", words = "one" }

[[test]]
name = "e"
workload = { plugin = "strict", level = 3 }

[[test]]
name = "f"
"#;
    assert_snapshot!(told(text, &Overrides::default()), @r#"
    error: no plugin provides the workload `sythetic`
     --> suite.toml:5:23
      |
    5 | workload = { plugin = "sythetic", mix = { read = 100 } }
      |                       ^^^^^^^^^^ unknown workload
      |
      = help: did you mean `synthetic`?

    error: `servers` is 0, must be within 1 and 4096
     --> suite.toml:9:42
      |
    9 | backend = { plugin = "memory", servers = 0, rate = "50", hot = "2 GB/s" }
      |                                          ^

    error: `rate`: "50" is no rate
     --> suite.toml:9:52
      |
    9 | backend = { plugin = "memory", servers = 0, rate = "50", hot = "2 GB/s" }
      |                                                    ^^^^
      |
      = help: for example "1000 iops" or "50 MB/s"

    error: `hot`: "2 GB/s" is a rate, must be a size
     --> suite.toml:9:64
      |
    9 | backend = { plugin = "memory", servers = 0, rate = "50", hot = "2 GB/s" }
      |                                                                ^^^^^^^^
      |
      = help: for example "4k" (4096 bytes), "1MiB", "1.5g", "100GB" (decimal) or 4096

    error: `mix` has no option `raed`
      --> suite.toml:10:44
       |
    10 | workload = { plugin = "synthetic", mix = { raed = 100 }, block_siz = "4k", pattern = "radom" }
       |                                            ^^^^ unknown option
       |
       = help: did you mean `read`?

    error: `synthetic` has no option `block_siz`
      --> suite.toml:10:58
       |
    10 | workload = { plugin = "synthetic", mix = { raed = 100 }, block_siz = "4k", pattern = "radom" }
       |                                                          ^^^^^^^^^ unknown option
       |
       = help: did you mean `block_size`?

    error: `pattern` is "radom", must be one of `sequential`, `random`, `strided`
      --> suite.toml:10:86
       |
    10 | workload = { plugin = "synthetic", mix = { raed = 100 }, block_siz = "4k", pattern = "radom" }
       |                                                                                      ^^^^^^^
       |
       = help: did you mean `random`?

    error: `auto` takes no options, so not `polled`
      --> suite.toml:14:30
       |
    14 | backend = { plugin = "auto", polled = true }
       |                              ^^^^^^
       |
       = help: name a backend to give it options

    error: `size`: "4q" has the unknown unit `q`
      --> suite.toml:15:80
       |
    15 | workload = { plugin = "synthetic", mix = { read = 50 }, block_size = [{ size = "4q", weight = -1 }, "8k"] }
       |                                                                                ^^^^
       |
       = help: for example "4k" (4096 bytes), "1MiB", "1.5g", "100GB" (decimal) or 4096

    error: `weight` is -1, must be within 0 and 1000000000
      --> suite.toml:15:95
       |
    15 | workload = { plugin = "synthetic", mix = { read = 50 }, block_size = [{ size = "4q", weight = -1 }, "8k"] }
       |                                                                                               ^^

    error: `block_size` is the text "8k", must be { size = .., weight = .. } within a list
      --> suite.toml:15:101
       |
    15 | workload = { plugin = "synthetic", mix = { read = 50 }, block_size = [{ size = "4q", weight = -1 }, "8k"] }
       |                                                                                                     ^^^^

    error: `strict` needs the option `level`
      --> suite.toml:19:12
       |
    19 | workload = { plugin = "strict", words = "one" }
       |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: for a test

    error: `words` is the text "one", must be a list, each a text in quotes
      --> suite.toml:19:41
       |
    19 | workload = { plugin = "strict", words = "one" }
       |                                         ^^^^^

    error: workload `strict`, option `level`: the levels 3 and 4 are taken
      --> suite.toml:23:41
       |
    23 | workload = { plugin = "strict", level = 3 }
       |                                         ^

    error: this test has no workload
      --> suite.toml:25:1
       |
    25 | [[test]]
       | ^^^^^^^^
       |
       = help: add workload = { plugin = "endless", .. }, or put it into [defaults]
    "#);
}

#[test]
fn expectations() {
    let text = r#"schema = 1

[[target]]
scratch = "1GiB"
datasheet = { random_read_iops = "825k", read_time = { value = "80us" } }

[[test]]
name = "a"
workload = "synthetic"
expect = [
    "errors",
    "read.latency.p99 < 1ms",
    "read.service.p99 < 1",
    "read.response.p99 < 1ms",
    "write.iops > 5k",
    "iops >= 95% of datasheet.random_read_iop",
    "iops >= 95% of datasheet.read_time",
    "read.service.p99 < 1ms at 50%",
    "ipos > 1",
]
"#;
    assert_snapshot!(told(text, &Overrides::default()), @r#"
    error: this expectation has no comparison
      --> suite.toml:11:5
       |
    11 |     "errors",
       |     ^^^^^^^^
       |
       = help: write METRIC COMPARISON LIMIT, for example "read.service.p99 < 1ms" or "errors == 0"

    error: `latency` alone can mean two things
      --> suite.toml:12:6
       |
    12 |     "read.latency.p99 < 1ms",
       |      ^^^^^^^^^^^^^^^^
       |
       = help: write `service` for submission to completion, or `response` for intended start to completion

    error: the limit "1" has no unit
      --> suite.toml:13:25
       |
    13 |     "read.service.p99 < 1",
       |                         ^
       |
       = help: the limit of this metric is a time, for example 1ms

    error: a closed loop has no intended starts, so no response time
      --> suite.toml:14:6
       |
    14 |     "read.response.p99 < 1ms",
       |      ^^^^^^^^^^^^^^^^^
       |
       = help: expect something of `service`

    error: this test asks for no write, so there is nothing to expect
      --> suite.toml:15:6
       |
    15 |     "write.iops > 5k",
       |      ^^^^^^^^^^

    error: the data sheet of target `scratch` has no `random_read_iop`
      --> suite.toml:16:14
       |
    16 |     "iops >= 95% of datasheet.random_read_iop",
       |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: did you mean `random_read_iops`?

    error: datasheet.read_time is a time, this metric is a number
      --> suite.toml:17:14
       |
    17 |     "iops >= 95% of datasheet.read_time",
       |              ^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: write value = "100k" there

    error: `at` names a point of a curve, and curves are not supported yet
      --> suite.toml:18:25
       |
    18 |     "read.service.p99 < 1ms at 50%",
       |                         ^^^^^^^^^^
       |
       = help: leave `at ..` out: a test has one load point

    error: `ipos` is no number of a result
      --> suite.toml:19:6
       |
    19 |     "ipos > 1",
       |      ^^^^
       |
       = help: did you mean `iops`?
    "#);
}

#[test]
fn names_and_streams() {
    let text = r#"schema = 1

[[test]]
name = "two words"
workload = "synthetic"

[[test]]
name = "a"
workload = "synthetic"

[[test]]
name = "a"
workload = "synthetic"

[[test]]
name = "fill-scratch"
workload = "synthetic"

[[test]]
name = "shared"
workload = "synthetic"
load = { outstanding = 2, workers = 4 }
[[test.stream]]
name = "read"
load = { outstanding = 2 }
[[test.stream]]
name = "log"
weight = 0
[[test.stream]]
name = "log"

[[test]]
name = "independent"
streams = "independant"
workload = "synthetic"
buffers = { dedup = 10 }
"#;
    assert_snapshot!(told(text, &Overrides::default()), @r#"
    error: the name "two words" cannot be used in file names
     --> suite.toml:4:8
      |
    4 | name = "two words"
      |        ^^^^^^^^^^^
      |
      = help: start with a letter or digit, go on with letters, digits, `.`, `_` and `-`, 64 at most

    error: the name `a` is used twice
      --> suite.toml:12:8
       |
     8 | name = "a"
       |        --- first used here
    ...
    12 | name = "a"
       |        ^^^ again here

    error: the name `fill-scratch` is taken by iodyno
      --> suite.toml:16:8
       |
    16 | name = "fill-scratch"
       |        ^^^^^^^^^^^^^^
       |
       = help: choose another

    error: `workers` is 4, must be at most `outstanding`, which is 2: each needs an I/O of its own
      --> suite.toml:22:37
       |
    22 | load = { outstanding = 2, workers = 4 }
       |                        -            ^
       |                        |
       |                        outstanding

    error: a stream cannot be called `read`
      --> suite.toml:24:8
       |
    24 | name = "read"
       |        ^^^^^^
       |
       = help: that word means something in `expect`; choose another

    error: streams that share a queue have no `load` of their own
      --> suite.toml:25:8
       |
    25 | load = { outstanding = 2 }
       |        ^^^^^^^^^^^^^^^^^^^
       |
       = help: put `load` into the test, or write streams = "independent" there

    error: `weight` is 0, must be within 0.000001 and 1000000
      --> suite.toml:28:10
       |
    28 | weight = 0
       |          ^

    error: the test has two streams `log`
      --> suite.toml:30:8
       |
    27 | name = "log"
       |        ----- first used here
    ...
    30 | name = "log"
       |        ^^^^^ again here

    error: `streams` is "independant", must be one of `shared`, `independent`
      --> suite.toml:34:11
       |
    34 | streams = "independant"
       |           ^^^^^^^^^^^^^
       |
       = help: did you mean `independent`?

    error: `dedup` above 0 is not supported yet
      --> suite.toml:36:21
       |
    36 | buffers = { dedup = 10 }
       |                     ^^
       |
       = help: for now, every block is unique and incompressible, or zero
    "#);
}

#[test]
fn targets() {
    let text = r#"schema = 1

[[target]]
label = "DUT/1"
path = "/dev/one"
size = "1GiB"

[[target]]
label = "DUT-2"
path = "/dev/two"

[[test]]
name = "a"
workload = "synthetic"
"#;
    assert_snapshot!(told(text, &Overrides::default()), @r#"
    error: the label "DUT/1" cannot be used in file names
     --> suite.toml:4:9
      |
    4 | label = "DUT/1"
      |         ^^^^^^^
      |
      = help: start with a letter or digit, go on with letters, digits, `.`, `_` and `-`, 64 at most

    error: `size` is for a target in memory only, so without path or scratch
     --> suite.toml:6:8
      |
    6 | size = "1GiB"
      |        ^^^^^^
      |
      = help: leave one out; scratch = "1GiB" gives the size of a file that iodyno makes

    error: 2 targets, but a run has one target for now
     --> suite.toml:8:1
      |
    3 | [[target]]
      | ---------- the first is here
    ...
    8 | [[target]]
      | ^^^^^^^^^^
      |
      = help: choose one on the command line: --target DUT/1=PATH
    "#);
}

#[test]
fn memory_has_no_automatic_backend() {
    let text = r#"schema = 1

[[target]]
label = "nothing"
size = "1000"

[[test]]
name = "a"
workload = "synthetic"
"#;
    assert_snapshot!(told(text, &Overrides::default()), @r#"
    error: `size` is 1000 bytes, must be a multiple of 512
     --> suite.toml:5:8
      |
    5 | size = "1000"
      |        ^^^^^^
      |
      = help: write "1KiB"
    "#);
}

#[test]
fn preparations() {
    let text = r#"schema = 1

[[prepare]]
fill = { passes = 1.5, blok_size = 3, region = "0%" }
idle = "5m"

[[prepare]]

[[prepare]]
fill = { workload = "endless", outstanding = 2, workers = 3 }

[[prepare]]
fill = { workload = { mix = { read = 100 } } }

[[prepare]]
fill = { pattern = "backwards" }

[[test]]
name = "a"
workload = "synthetic"
"#;
    assert_snapshot!(told(text, &Overrides::default()), @r#"
    error: unknown field `blok_size` in `fill`
     --> suite.toml:4:24
      |
    4 | fill = { passes = 1.5, blok_size = 3, region = "0%" }
      |                        ^^^^^^^^^ unknown field
      |
      = help: did you mean `block_size`?

    error: `region`: "0%" is empty: it must end behind its start
     --> suite.toml:4:48
      |
    4 | fill = { passes = 1.5, blok_size = 3, region = "0%" }
      |                                                ^^^^
      |
      = help: for example "25%", "10GiB" or "5%..100%"

    error: a preparation is either `fill` or `idle`
     --> suite.toml:5:8
      |
    5 | idle = "5m"
      |        ^^^^
      |
      = help: write a [[prepare]] for each

    error: this preparation does nothing
     --> suite.toml:7:1
      |
    7 | [[prepare]]
      | ^^^^^^^^^^^
      |
      = help: add fill = {} or idle = "5m"

    error: this workload writes nothing, so it fills nothing
      --> suite.toml:10:21
       |
    10 | fill = { workload = "endless", outstanding = 2, workers = 3 }
       |                     ^^^^^^^^^
       |
       = help: give the fill a workload that writes

    error: this workload writes nothing, so it fills nothing
      --> suite.toml:13:8
       |
    13 | fill = { workload = { mix = { read = 100 } } }
       |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: give the fill a workload that writes

    error: `pattern` is "backwards", must be one of `sequential`, `random`, `strided`
      --> suite.toml:16:20
       |
    16 | fill = { pattern = "backwards" }
       |                    ^^^^^^^^^^^
    "#);
}

#[test]
fn what_does_not_fit_the_target() {
    let text = r#"schema = 1

[[target]]
path = "/tmp/scratch.dat"
serial = "S2"

[[test]]
name = "decimal"
workload = { plugin = "synthetic", block_size = "4kb" }
region = "2GiB..4GiB"

[[test]]
name = "tiny"
workload = { plugin = "synthetic", block_size = "8k" }
region = "50%..50.0001%"

[[test]]
name = "slices"
workload = { plugin = "synthetic", block_size = "1MiB", slices = true }
region = "4MiB"
load = { outstanding = 32, workers = 32 }
"#;
    assert_snapshot!(told(text, &Overrides::default()), @r#"
    error: target `target` has the serial number "S1", must be "S2"
     --> suite.toml:5:10
      |
    5 | serial = "S2"
      |          ^^^^
      |
      = help: is this the right device?

    error: workload `synthetic`, option `block_size`: 4000 bytes are no multiple of the target's 4096
     --> suite.toml:9:49
      |
    9 | workload = { plugin = "synthetic", block_size = "4kb" }
      |                                                 ^^^^^
      |
      = help: target `target` takes multiples of 4096 bytes

    error: region 2GiB..4GiB of target `target` reaches beyond its end: from 2GiB to 4GiB, the target has 1GiB
      --> suite.toml:10:10
       |
    10 | region = "2GiB..4GiB"
       |          ^^^^^^^^^^^^

    error: region 50%..50.0001% of target `target` is 0B after rounding, too small for a block of 8KiB
      --> suite.toml:15:10
       |
    15 | region = "50%..50.0001%"
       |          ^^^^^^^^^^^^^^^

    error: workload `synthetic`, option `slices`: no room for 32 slices
      --> suite.toml:19:66
       |
    19 | workload = { plugin = "synthetic", block_size = "1MiB", slices = true }
       |                                                                  ^^^^
    "#);
}

#[test]
fn what_is_not_supported_yet() {
    let text = r#"schema = 1
include = ["other.toml"]

[[test]]
name = "sweep-{block_size}"
workload = "synthetic"
matrix = { "load.outstanding" = [1, 2] }
load = { curve = { from = 10, to = 120 } }
"#;
    assert_snapshot!(told(text, &Overrides::default()), @r#"
    error: `include` is not supported yet
     --> suite.toml:2:1
      |
    2 | include = ["other.toml"]
      | ^^^^^^^
      |
      = help: for now, write everything into one file

    error: the name "sweep-{block_size}" cannot be used in file names
     --> suite.toml:5:8
      |
    5 | name = "sweep-{block_size}"
      |        ^^^^^^^^^^^^^^^^^^^^
      |
      = help: names with {..} belong to a matrix, which is not supported yet: write a [[test]] for each

    error: `matrix` is not supported yet
     --> suite.toml:7:1
      |
    7 | matrix = { "load.outstanding" = [1, 2] }
      | ^^^^^^
      |
      = help: for now, write a [[test]] for each combination

    error: `curve` is not supported yet
     --> suite.toml:8:10
      |
    8 | load = { curve = { from = 10, to = 120 } }
      |          ^^^^^
      |
      = help: for now, write a [[test]] for each load point, with its own `outstanding`
    "#);
}

#[test]
fn profiles() {
    let text = r#"schema = 1

[profile.quick]
default = {}

[profile.quick.test.b]
load = { outstanding = 1_000_000 }

[[test]]
name = "a"
workload = "synthetic"
"#;
    let overrides = Overrides { profile: Some("quick".to_owned()), ..Overrides::default() };
    assert_snapshot!(told(text, &overrides), @r#"
    error: unknown field `default` in `quick`
     --> suite.toml:4:1
      |
    4 | default = {}
      | ^^^^^^^ unknown field
      |
      = help: did you mean `defaults`?

    error: nothing has the name `b`
     --> suite.toml:6:21
      |
    6 | [profile.quick.test.b]
      |                     ^
      |
      = help: did you mean `a`?

    error: `outstanding` is 1000000, must be within 1 and 65536
     --> suite.toml:7:24
      |
    7 | load = { outstanding = 1_000_000 }
      |                        ^^^^^^^^^
    "#);
}

#[test]
fn the_command_line() {
    let text = r#"schema = 1

[[target]]
label = "DUT-1"
scratch = "1GiB"

[[test]]
name = "a"
workload = "synthetic"
"#;
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
    assert_snapshot!(told(text, &overrides), @r#"
    error: unknown field `bakend` in `defaults`
     --> --set:1:10
      |
    1 | defaults.bakend=fast
      |          ^^^^^^ unknown field
      |
      = help: did you mean `backend`?

    error: nothing has the name `b`
     --> --set:1:6
      |
    1 | test.b.region=5%
      |      ^
      |
      = help: did you mean `a`?

    error: `block_size`: "4q" has the unknown unit `q`
     --> --set:1:28
      |
    1 | test.a.workload.block_size=4q
      |                            ^^
      |
      = help: for example "4k" (4096 bytes), "1MiB", "1.5g", "100GB" (decimal) or 4096

    error: `outstanding` is the text "many", must be a whole number
     --> --set:1:25
      |
    1 | test.a.load.outstanding=many
      |                         ^^^^

    error: --set cannot change `tests`
     --> --set:1:1
      |
    1 | tests.a.region=5%
      | ^^^^^
      |
      = help: did you mean `test`?

    error: there is no `=` in the argument of --set
     --> --set:1:1
      |
    1 | test.a.region
      | ^^^^^^^^^^^^^
      |
      = help: write PATH=VALUE, for example defaults.backend=sync or test.NAME.load.outstanding=8

    error: the suite has no profile `quik`
     --> --profile:1:1
      |
    1 | quik
      | ^^^^
      |
      = help: there are none

    error: no target has the label `DUT-2`
     --> --target:1:1
      |
    1 | DUT-2=/dev/sdx
      | ^^^^^^^^^^^^^^
      |
      = help: did you mean `DUT-1`?; for a path write ./DUT-2=..

    error: more than one --target: a run has one target for now
     --> --target:1:1
      |
    1 | /dev/sdy
      | ^^^^^^^^
      |
      = help: leave one, and run the suite once for each target

    error: `scratch`: "1.3k" is 1331 bytes and a bit, must be a whole number
     --> --size:1:1
      |
    1 | 1.3k
      | ^^^^
      |
      = help: write 1331 or 1332

    error: the seed must be below 2^53
     --> --seed:1:1
      |
    1 | 9007199254740992
      | ^^^^^^^^^^^^^^^^
      |
      = help: then every JSON reader keeps it exactly
    "#);
}
