//! Means over seeds, and how sure they are.

use serde::Serialize;

/// A mean with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct MeanInterval {
    pub(crate) mean: f64,
    /// Half of the interval's width; `None` for a single value.
    pub(crate) margin: Option<f64>,
}

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

impl MeanInterval {
    /// Of values from independent seeds.
    #[expect(clippy::cast_precision_loss, reason = "few values")]
    pub(crate) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let margin = (values.len() > 1).then(|| {
            let squares = values.iter().map(|value| (value - mean).powi(2));
            let deviation = (squares.sum::<f64>() / (count - 1.0)).sqrt();
            // From 32 values on the last quantile is a little too wide, never too narrow.
            let t = T[(values.len() - 2).min(T.len() - 1)];
            t * deviation / count.sqrt()
        });
        Self { mean, margin }
    }

    /// Of the saving of `costs` against `baseline`, seed by seed, as a share.
    pub(crate) fn saving(costs: &[f64], baseline: &[f64]) -> Self {
        let pairs = costs.iter().zip(baseline);
        let shares = pairs.map(|(cost, base)| if *base > 0.0 { 1.0 - cost / base } else { 0.0 });
        Self::of(&shares.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_students_t() {
        let estimate = MeanInterval::of(&[10.0, 12.0, 14.0]);
        assert!((estimate.mean - 12.0).abs() < 1e-9);
        // t of 2 degrees of freedom, times 2 over the root of 3.
        let expected = 4.303 * 2.0 / 3_f64.sqrt();
        assert!((estimate.margin.expect("three values") - expected).abs() < 1e-9);
        assert_eq!(MeanInterval::of(&[3.0]).margin, None);
    }

    #[test]
    fn a_saving_is_reckoned_seed_by_seed() {
        let saving = MeanInterval::saving(&[5.0, 20.0], &[10.0, 40.0]);
        assert!((saving.mean - 0.5).abs() < 1e-9);
        assert!(saving.margin.expect("two values").abs() < 1e-9);
    }
}
