//! What was probably meant by a name that is unknown.

/// Names less alike than this are not worth suggesting; in [0, 1], where 1 is the same name.
const SIMILARITY_MIN: f64 = 0.7;

/// Of the `known` names, the one most like `name` by Jaro and Winkler, if one is like it at all.
pub fn nearest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let similarity = |other: &&str| strsim::jaro_winkler(name, other);
    let nearest = known.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(nearest) >= SIMILARITY_MIN).then_some(*nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_alike_is_suggested() {
        let known = ["latency", "token_rate"];
        for (name, expected) in [("latenci", Some("latency")), ("tokenrate", Some("token_rate")), ("zzz", None)] {
            assert_eq!(nearest(name, &known), expected, "{name}");
        }
        assert_eq!(nearest("latency", &[]), None);
    }
}
