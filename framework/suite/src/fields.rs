//! Every field that a suite may have. What holds where a suite is silent stands in `built_in.toml`.

use iodyno_plugin::{Kind, OptionKind};

use crate::shape::{Field, Shape};

const MS: u64 = 1_000_000;
const DAY: u64 = 86_400_000 * MS;
/// Most outstanding I/O of a test. A worker holds a buffer for each.
pub(crate) const OUTSTANDING_MAX: i64 = 65_536;

const TEXT: Shape = Shape::Value(OptionKind::Text);
const BOOL: Shape = Shape::Value(OptionKind::Bool);
const PERCENT: Shape = Shape::Value(OptionKind::Percent);
const SIZE: Shape = Shape::Value(OptionKind::Size { min: 1, max: i64::MAX as u64 });
const OUTSTANDING: Shape = Shape::Value(OptionKind::Int { min: 1, max: OUTSTANDING_MAX });
const WORKERS: Shape = Shape::Value(OptionKind::Int { min: 1, max: 1024 });

/// The whole file.
pub(crate) const SUITE: &[Field] = &[
    Field::new("schema", Shape::Value(OptionKind::Int { min: 1, max: 1 }), "Version of the suite format.")
        .required(),
    Field::new("suite", Shape::Table(HEAD), "What the suite is."),
    Field::new("defaults", Shape::Table(DEFAULTS), "What holds for every test that does not say otherwise."),
    Field::new("target", TARGETS, "The target under test."),
    Field::new("prepare", PREPARES, "What is done before the tests, in this order."),
    Field::new("test", TESTS, "The tests, in this order."),
    Field::new(
        "profile",
        Shape::Named(&Shape::Table(PROFILE)),
        "Named changes, taken with `--profile NAME`.",
    ),
    Field::later("include", "write everything into one file"),
    Field::later("matrix", "write a [[test]] for each combination"),
];

/// What a profile or `--set` may change: rows are found by their name.
pub(crate) const PROFILE: &[Field] = &[
    Field::new("defaults", Shape::Table(DEFAULTS), "Changes of [defaults]."),
    Field::new("target", Shape::Named(&Shape::Table(TARGET)), "Changes of the target with this label."),
    Field::new("prepare", Shape::Named(&Shape::Table(PREPARE)), "Changes of the preparation with this name."),
    Field::new("test", Shape::Named(&Shape::Table(TEST)), "Changes of the test with this name."),
    Field::later("inherits", "repeat what the other profile says"),
];

pub(crate) const TARGETS: Shape = Shape::Rows { key: "label", fields: TARGET };
pub(crate) const PREPARES: Shape = Shape::Rows { key: "name", fields: PREPARE };
pub(crate) const TESTS: Shape = Shape::Rows { key: "name", fields: TEST };

pub(crate) const HEAD: &[Field] = &[
    Field::new("name", TEXT, "Name for reports and run folders; if not set, that of the file."),
    Field::new("description", TEXT, "One line for people."),
];

pub(crate) const TARGET: &[Field] = &[
    Field::new("label", TEXT, "Name in reports and for `--target LABEL=PATH`."),
    Field::new("path", TEXT, "A file or block device. Grants nothing: writing needs `--allow-destroy`."),
    Field::new("scratch", SIZE, "Size of a file that iodyno makes, at `path` or in the current folder."),
    Field::new(
        "size",
        SIZE,
        "Size of a target that has none: in memory only, or with `path` a character device.",
    ),
    Field::new("serial", TEXT, "The device must have this serial number."),
    Field::new("datasheet", Shape::Named(&DATASHEET), "What the maker promises, for `expect`."),
];

const DATASHEET: Shape = Shape::Short { key: "value", fields: DATASHEET_ENTRY };

pub(crate) const DATASHEET_ENTRY: &[Field] = &[
    Field::new("value", Shape::Quantity, "The number: 825000, \"825k\", \"7 GB/s\" or \"80us\".").required(),
    Field::new("block_size", SIZE, "At which block size, for people."),
    Field::new("region", Shape::Region, "On which part of the device, for people."),
];

const BACKEND: Field = Field::new(
    "backend",
    Shape::Plugin(Kind::Backend),
    "How I/O reaches the target; `auto` takes the best that works.",
);
const DIRECT: Field = Field::new("direct", BOOL, "Whether the page cache is bypassed.");
const BUFFERS: Field = Field::new("buffers", Shape::Table(BUFFER), "What is written.");
const REGION: Field = Field::new(
    "region",
    Shape::Region,
    "The part of the target that is touched: \"25%\", \"10GiB\", \"5%..100%\".",
);
const PHASES: Field = Field::new("phases", Shape::Table(PHASE), "How long is measured.");
const STREAMS: Field = Field::new(
    "streams",
    Shape::Value(OptionKind::Enum(&["shared", "independent"])),
    "Whether streams share one queue, drawn by weight, or each has outstanding I/O of its own.",
);
const INTERVAL: Field = Field::new(
    "interval",
    Shape::Value(OptionKind::Duration { min_ns: 10 * MS, max_ns: 60_000 * MS }),
    "Length of an interval row.",
);
const WORKLOAD: Field = Field::new("workload", Shape::Plugin(Kind::Workload), "What is asked.");
const LOAD: Field = Field::new("load", Shape::Table(LOADS), "How hard it is asked.");

/// What a test may inherit.
pub(crate) const DEFAULTS: &[Field] =
    &[BACKEND, DIRECT, BUFFERS, REGION, PHASES, STREAMS, INTERVAL, WORKLOAD, LOAD];

pub(crate) const TEST: &[Field] = &[
    Field::new("name", TEXT, "Unique name.").required(),
    Field::new("tags", Shape::Value(OptionKind::List(&OptionKind::Text)), "Words to find tests by."),
    Field::new(
        "requires",
        Shape::Table(REQUIRES),
        "Where the target does not have this, the test is not run.",
    ),
    Field::new(
        "expect",
        Shape::Value(OptionKind::List(&OptionKind::Text)),
        "What must hold: \"read.service.p99 < 1ms\".",
    ),
    Field::new(
        "stream",
        Shape::Rows { key: "name", fields: STREAM },
        "Streams; each inherits from its test.",
    ),
    BACKEND,
    DIRECT,
    BUFFERS,
    REGION,
    PHASES,
    STREAMS,
    INTERVAL,
    WORKLOAD,
    LOAD,
    Field::later("matrix", "write a [[test]] for each combination"),
    Field::later("exclude", "write a [[test]] for each combination"),
    Field::later("procedure", "write a [[test]] for each load point"),
];

pub(crate) const STREAM: &[Field] = &[
    Field::new("name", TEXT, "Unique name within the test, for reports and `expect`.").required(),
    Field::new(
        "weight",
        Shape::Value(OptionKind::Float { min: 1e-6, max: 1e6 }),
        "With `streams = \"shared\"`: how often this stream is drawn, against the others.",
    ),
    WORKLOAD,
    REGION,
    LOAD,
    BUFFERS,
];

const REQUIRES: &[Field] = &[
    Field::new("capacity", SIZE, "The target is at least this large."),
    Field::new(
        "kind",
        Shape::Value(OptionKind::Enum(&["file", "block", "char", "virtual"])),
        "The target is a file, a block device, a character device, or exists in memory only.",
    ),
];

const PHASE: &[Field] = &[
    Field::new(
        "warmup",
        Shape::Value(OptionKind::Duration { min_ns: 0, max_ns: 30 * DAY }),
        "Before the measure.",
    ),
    Field::new(
        "measure",
        Shape::Value(OptionKind::Duration { min_ns: MS, max_ns: 30 * DAY }),
        "Length of the measure.",
    ),
];

const LOADS: &[Field] = &[
    Field::new("outstanding", OUTSTANDING, "Outstanding I/O in total, divided over the workers."),
    Field::new(
        "workers",
        WORKERS,
        "Threads that drive it; a backend with one I/O a queue gets as many as it needs.",
    ),
    Field::later("curve", "write a [[test]] for each load point, with its own `outstanding`"),
    Field::later("rate", "set `outstanding`: a closed loop"),
    Field::later("arrival", "set `outstanding`: a closed loop"),
];

const BUFFER: &[Field] = &[
    Field::new(
        "fill",
        Shape::Value(OptionKind::Enum(&["random", "zero"])),
        "Every block unique and incompressible, or zeroes, which a device may not store at all.",
    ),
    Field::new("compress", PERCENT, "Share that can be compressed away; only 0 for now."),
    Field::new("dedup", PERCENT, "Share of blocks that occur more than once; only 0 for now."),
];

pub(crate) const PREPARE: &[Field] = &[
    Field::new("name", TEXT, "Unique name; if not set, `fill` or `idle`, with a number."),
    Field::new("fill", Shape::Table(FILL), "Writes the target, all of it unless `region` says otherwise."),
    Field::new(
        "idle",
        Shape::Value(OptionKind::Duration { min_ns: MS, max_ns: 30 * DAY }),
        "Does nothing for a while, so that the device can tidy up.",
    ),
    Field::later("purge", "purge the device by its own tool before the run"),
    Field::later("precondition", "use `fill` with pattern = \"random\" and `passes`"),
];

pub(crate) const FILL: &[Field] = &[
    Field::new("passes", Shape::Passed, "How often the region is written."),
    Field::new("block_size", Shape::Passed, "Size of a write."),
    Field::new("pattern", Shape::Passed, "Where writes go."),
    Field::new("outstanding", OUTSTANDING, "Outstanding I/O in total."),
    Field::new("workers", WORKERS, "Threads that drive it."),
    WORKLOAD,
    REGION,
    BACKEND,
    DIRECT,
    BUFFERS,
    INTERVAL,
];
