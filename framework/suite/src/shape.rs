//! The language in which the suite's own fields are declared. Reader, merging, dry run and JSON Schema all go
//! by these tables, as they go by the option tables of plugins.

use iodyno_plugin::{Kind, OptionKind};

/// One field of a table of the suite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    /// One sentence for the schema.
    pub(crate) doc: &'static str,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A value of the types that plugins' options have.
    Value(OptionKind),
    /// A part of a target: `"25%"`, `"10GiB"`, `"5%..100%"`.
    Region,
    /// A number with a unit, of any kind.
    Quantity,
    /// A plugin: its name, or a table with `plugin` and options.
    Plugin(Kind),
    /// An option that is handed to the workload of the same table, which checks it.
    Passed,
    /// A table.
    Table(&'static [Field]),
    /// A table, or the value of its field `key` alone.
    Short { key: &'static str, fields: &'static [Field] },
    /// `[[name]]`; a profile or `--set` finds a row by the value of its field `key`.
    Rows { key: &'static str, fields: &'static [Field] },
    /// A table with names that the user gives.
    Named(&'static Shape),
    /// Understood, and refused for now; says what to do instead.
    Later(&'static str),
}

impl Field {
    pub(crate) const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Field { name, shape, required: false, doc }
    }

    pub(crate) const fn required(self) -> Self {
        Field { required: true, ..self }
    }

    /// A field that is known, so that the error can say more than that it is not.
    pub(crate) const fn later(name: &'static str, instead: &'static str) -> Self {
        Field::new(name, Shape::Later(instead), "")
    }
}

/// The field of a name.
pub(crate) fn find(fields: &'static [Field], name: &str) -> Option<&'static Field> {
    fields.iter().find(|f| f.name == name)
}

/// The names of fields that can be used.
pub(crate) fn names(fields: &'static [Field]) -> impl Iterator<Item = &'static str> {
    fields.iter().filter(|f| !matches!(f.shape, Shape::Later(_))).map(|f| f.name)
}
