//! Of what overlaps, the strongest.
//!
//! **Formula**: greatest strength first, then the longer, then the earlier, then the one listed first; whatever overlaps
//! with one that was taken is left. O(n log n).

use std::{cmp::Ordering, collections::BTreeMap, ops::Range};

/// The indices of those that stay, in the order of their places.
pub fn strongest(spans: &[(Range<usize>, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..spans.len()).filter(|index| !spans[*index].0.is_empty()).collect();
    order.sort_by(|a, b| by_strength(&spans[*a], &spans[*b]).then(a.cmp(b)));
    let mut taken: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for index in order {
        let span = &spans[index].0;
        let before = taken.range(..span.end).next_back();
        if before.is_none_or(|(_, (end, _))| *end <= span.start) {
            taken.insert(span.start, (span.end, index));
        }
    }
    taken.into_values().map(|(_, index)| index).collect()
}

fn by_strength(a: &(Range<usize>, f64), b: &(Range<usize>, f64)) -> Ordering {
    b.1.total_cmp(&a.1).then(b.0.len().cmp(&a.0.len())).then(a.0.start.cmp(&b.0.start))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_stronger_then_the_longer_stays() {
        assert_eq!(strongest(&[(0..5, 2.0), (3..9, 3.0), (9..12, 1.0)]), [1, 2]);
        assert_eq!(strongest(&[(0..5, 2.0), (0..9, 2.0), (1..2, 2.0)]), [1]);
        assert_eq!(strongest(&[(0..5, 2.0), (0..5, 2.0), (4..4, 9.0)]), [0]);
    }

    proptest! {
        #[test]
        fn what_stays_does_not_overlap_and_what_goes_had_a_reason(
            spans in prop::collection::vec((0..60_usize, 1..12_usize, 0..4_u8), 0..40)
        ) {
            let spans: Vec<_> = spans.iter().map(|(at, length, strength)| (*at..at + length, f64::from(*strength))).collect();
            let kept = strongest(&spans);
            for pair in kept.windows(2) {
                prop_assert!(spans[pair[0]].0.end <= spans[pair[1]].0.start);
            }
            for index in (0..spans.len()).filter(|index| !kept.contains(index)) {
                let (span, strength) = &spans[index];
                let has_reason = kept.iter().any(|kept| {
                    let (other, other_strength) = &spans[*kept];
                    other.start < span.end && span.start < other.end && other_strength >= strength
                });
                prop_assert!(has_reason);
            }
        }
    }
}
