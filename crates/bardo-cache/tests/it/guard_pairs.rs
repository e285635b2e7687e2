//! Checks that the guard keeps pairs of texts apart, or joins them, in both orders.

use bardo_cache::guard::difference;

#[track_caller]
pub(crate) fn separate(pairs: &[(&str, &str)]) {
    for (one, other) in pairs {
        assert!(difference(one, other).is_some(), "{one} | {other}");
        assert!(difference(other, one).is_some(), "{other} | {one}");
    }
}

#[track_caller]
pub(crate) fn join(pairs: &[(&str, &str)]) {
    for (one, other) in pairs {
        assert_eq!(difference(one, other), None, "{one} | {other}");
        assert_eq!(difference(other, one), None, "{other} | {one}");
    }
}
