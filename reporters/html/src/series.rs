//! Points of a curve: gaps, reduction, percentiles, and how they are written.

use iodyno_plugin::{Error, Result};
use iodyno_record::{Histogram, LatencySummary};
use serde::{Serialize, Serializer};

/// The most points of a curve.
pub(crate) const POINTS_MAX: usize = 2000;

/// Points per decade of the share beyond a percentile.
const POINTS_PER_DECADE: u32 = 20;

/// A point; `None` is a gap, never 0.
pub(crate) type Point = (f64, Option<f64>);

/// Points of a curve by the share of I/O beyond: x = 0 at 0 %, 1 at 90 %, 2 at 99 %, and so on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantiles {
    pub(crate) points: Vec<Point>,
    /// From this point on fewer than ten samples lie beyond.
    pub(crate) few_from: usize,
}

/// The curve of a histogram, from its least to its greatest value. The last x is where one sample is left.
///
/// # Errors
/// When the record's histogram is damaged.
pub(crate) fn quantiles(latency: &LatencySummary) -> Result<Quantiles> {
    let histogram = Histogram::from_hdr_v2(&latency.hdr_v2).map_err(|e| Error::contract(e.to_string()))?;
    let (least, greatest) = (latency.min_ns as f64, latency.max_ns as f64);
    let last = (latency.count.max(1) as f64).log10();
    let inner = (1..).map(|i| f64::from(i) / f64::from(POINTS_PER_DECADE)).take_while(|x| *x < last);
    let mut points = vec![(0.0, Some(least))];
    points.extend(inner.map(|x| {
        let percent = 100.0 * (1.0 - 10f64.powf(-x));
        // Slots are known to their bounds only, the extremes exactly.
        (x, histogram.percentile_ns(percent).map(|ns| (ns as f64).clamp(least, greatest)))
    }));
    points.push((last, Some(greatest)));
    let few_from = points.iter().position(|(x, _)| latency.count as f64 * 10f64.powf(-x) < 10.0 - 1e-6);
    Ok(Quantiles { few_from: few_from.unwrap_or(points.len()), points })
}

/// At most `most` points: of each stretch its least, its greatest, and one gap if it has any. A mean would hide
/// the stalls that people look for.
pub(crate) fn reduce(points: &[Point], most: usize) -> Vec<Point> {
    if points.len() <= most {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil((most / 3).max(1));
    let mut kept = Vec::with_capacity(most);
    for stretch in points.chunks(stretch) {
        let values = || stretch.iter().enumerate().filter_map(|(i, (_, y))| y.map(|y| (i, y)));
        let least = values().min_by(|a, b| a.1.total_cmp(&b.1));
        let greatest = values().max_by(|a, b| a.1.total_cmp(&b.1));
        let gap = stretch.iter().position(|(_, y)| y.is_none());
        let mut indices: Vec<usize> =
            [least.map(|v| v.0), greatest.map(|v| v.0), gap].into_iter().flatten().collect();
        indices.sort_unstable();
        indices.dedup();
        kept.extend(indices.into_iter().map(|i| stretch[i]));
    }
    kept
}

/// A number cut to five significant digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Short(pub(crate) f64);

/// A place on the x axis, to a millionth of its unit: a long run needs more than five digits to tell windows apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place(pub(crate) f64);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let cut = format!("{:.4e}", self.0).parse().expect("a number that was just written");
        number(cut, serializer)
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        number((self.0 * 1e6).round() / 1e6, serializer)
    }
}

/// Whole numbers without `.0`.
fn number<S: Serializer>(value: f64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        serializer.serialize_i64(value as i64)
    } else {
        serializer.serialize_f64(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(count: u64) -> LatencySummary {
        let mut h = Histogram::new();
        (1..=count).for_each(|v| h.record(v));
        h.summary().unwrap()
    }

    #[test]
    fn a_percentile_curve_meets_the_summary() {
        let latency = uniform(100_000);
        let curve = quantiles(&latency).unwrap();
        let at = |x: f64| curve.points.iter().find(|p| (p.0 - x).abs() < 1e-9).unwrap().1.unwrap();
        assert_eq!(at(0.0), 1.0);
        assert!((at(1.0) - 90_000.0).abs() <= 90.0);
        assert!((at(2.0) - 99_000.0).abs() <= 99.0);
        assert_eq!(curve.points.last().unwrap(), &(5.0, Some(100_000.0)), "the maximum is exact");
        assert!(curve.points.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        assert!(curve.points.len() < POINTS_MAX);
    }

    #[test]
    fn few_samples_begin_where_fewer_than_ten_lie_beyond() {
        let curve = quantiles(&uniform(1000)).unwrap();
        let (x, _) = curve.points[curve.few_from];
        assert!((x - 2.05).abs() < 1e-9, "p99 of 1000 has ten beyond: {x}");
        assert_eq!(quantiles(&uniform(5)).unwrap().few_from, 0);
    }

    #[test]
    fn one_sample_is_a_curve_of_its_own() {
        let curve = quantiles(&uniform(1)).unwrap();
        assert_eq!(curve.points, [(0.0, Some(1.0)), (0.0, Some(1.0))]);
    }

    #[test]
    fn a_damaged_histogram_is_an_error() {
        let latency = LatencySummary { hdr_v2: "nonsense".into(), ..uniform(3) };
        assert!(quantiles(&latency).is_err());
    }

    #[test]
    fn reduction_keeps_extremes_and_gaps() {
        let mut points: Vec<Point> =
            (0..50_000u32).map(|i| (f64::from(i), Some(f64::from(i % 97) + 10.0))).collect();
        points[12_345].1 = Some(9e9);
        points[33_333].1 = Some(0.5);
        points[40_000].1 = None;
        let kept = reduce(&points, POINTS_MAX);
        assert!(kept.len() <= POINTS_MAX, "{}", kept.len());
        for i in [12_345, 33_333, 40_000] {
            assert!(kept.contains(&points[i]), "point {i}");
        }
        assert!(kept.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(kept.iter().filter(|p| p.1.is_none()).count(), 1);
        for stretch in points.chunks(5000) {
            let inside = |p: &&Point| p.0 >= stretch[0].0 && p.0 <= stretch[4999].0;
            let greatest = |points: &mut dyn Iterator<Item = &Point>| {
                points.filter_map(|p| p.1).max_by(f64::total_cmp).unwrap()
            };
            assert_eq!(greatest(&mut kept.iter().filter(inside)), greatest(&mut stretch.iter()));
        }
    }

    #[test]
    fn few_points_and_gaps_only_stay_as_they_are() {
        let points: Vec<Point> = vec![(0.0, Some(1.0)), (1.0, None)];
        assert_eq!(reduce(&points, POINTS_MAX), points);
        let gaps: Vec<Point> = (0..3000).map(|i| (f64::from(i), None)).collect();
        assert!(reduce(&gaps, POINTS_MAX).iter().all(|p| p.1.is_none()));
    }

    #[test]
    fn numbers_are_short() {
        let text =
            serde_json::to_string(&[Short(82_471.23), Short(1.0), Short(0.123_456_789), Short(-2.5e-7)]);
        assert_eq!(text.unwrap(), "[82471,1,0.12346,-2.5e-7]");
        assert_eq!(serde_json::to_string(&Place(36_000.100_000_04)).unwrap(), "36000.1");
    }
}
