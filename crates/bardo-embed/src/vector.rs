//! A vector of length one.

/// The place of a text in the space of its model: a vector of length one.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Box<[f32]>);

impl Vector {
    /// Scales numbers to length one; `None` where they have no length or are no numbers.
    #[must_use]
    pub fn normalized(mut values: Vec<f32>) -> Option<Self> {
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        if !length.is_finite() || length == 0.0 {
            return None;
        }
        for value in &mut values {
            *value /= length;
        }
        Some(Self(values.into()))
    }

    /// The numbers, whose squares sum to one.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.0
    }

    /// The numbers times 127, rounded: a quarter of the memory. The dot product of two such
    /// vectors over 127 · 127 is their cosine to within 0.01.
    #[must_use]
    pub fn quantized(&self) -> Vec<i8> {
        // A float that is cast stops at the ends of the integer.
        self.0
            .iter()
            .map(|value| (value * 127.0).round() as i8)
            .collect()
    }

    /// Cosine of the angle to another vector of the model: 1 for equal directions.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_has_length_one_and_its_integers_point_the_same_way() {
        let vector = Vector::normalized((0..384).map(|i| (i as f32 * 0.7).sin()).collect())
            .expect("it has a length");
        assert!((vector.cosine(&vector) - 1.0).abs() < 1e-5);
        let small = vector.quantized();
        let dot: i32 = small.iter().map(|&v| i32::from(v) * i32::from(v)).sum();
        assert!((dot as f32 / (127.0 * 127.0) - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_vector_without_length_is_none() {
        assert_eq!(Vector::normalized(vec![0.0; 4]), None);
        assert_eq!(Vector::normalized(vec![f32::NAN, 1.0]), None);
        assert_eq!(Vector::normalized(Vec::new()), None);
    }
}
