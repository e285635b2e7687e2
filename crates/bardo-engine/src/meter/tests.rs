use super::*;

#[test]
fn an_empty_meter_counts_nothing() {
    assert_eq!(Meter::new(Dialect::Chat).delivered_tokens(), 0);
}
