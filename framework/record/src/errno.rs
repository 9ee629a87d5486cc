//! Reads maps from errno to count.
//!
//! JSON has text as keys. Inside a tagged enum, such as [`crate::Event`], serde has read the JSON before it
//! knows the variant and hands keys on as text, which the map of numbers would refuse.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error};

/// For `#[serde(deserialize_with)]`.
pub(crate) fn counts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<i32, u64>, D::Error> {
    let text: BTreeMap<String, u64> = Deserialize::deserialize(deserializer)?;
    let number = |(errno, n): (String, u64)| match errno.parse() {
        Ok(errno) => Ok((errno, n)),
        Err(_) => Err(D::Error::custom(format!("`{errno}` is no errno"))),
    };
    text.into_iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Envelope, Event, Op, Row, RowKind};

    #[test]
    fn errors_come_back_out_of_an_event() {
        let row = Row {
            item: 1,
            step: 0,
            kind: RowKind::Measure,
            window: 0,
            start_ns: 0,
            end_ns: 1,
            stream: 0,
            op: Op::Read,
            completed: 0,
            bytes: 0,
            carried: 0,
            carried_bytes: 0,
            short: 0,
            errors: [(5, 2), (28, 1)].into(),
            service: None,
            response: None,
            in_flight_mean: Some(1.5),
        };
        let event = Event::Rows { rows: vec![row] };
        let envelope = Envelope { schema_version: 1, seq: 0, unix_ms: 0, event };
        let json = serde_json::to_string(&envelope).unwrap();
        assert!(json.contains(r#""errors":{"5":2,"28":1}"#));
        assert_eq!(serde_json::from_str::<Envelope>(&json).unwrap(), envelope);
        assert!(serde_json::from_str::<Envelope>(&json.replace("\"28\"", "\"EIO\"")).is_err());
    }
}
