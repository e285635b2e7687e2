//! Figures in few bytes: each number in groups of seven bits, small ones and zeros in one byte.

use bardo_ledger::series::SeriesFigures;

/// Figures as the store keeps them, without zeros at the end.
pub(super) fn write(figures: &SeriesFigures) -> Vec<u8> {
    let numbers = figures.numbers();
    let length = numbers.iter().rposition(|number| *number != 0);
    let mut bytes = Vec::with_capacity(96);
    for number in &numbers[..length.map_or(0, |last| last + 1)] {
        // The sign goes to the lowest bit, so that small numbers of both signs are short.
        let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
        while rest >= 0x80 {
            bytes.push(low(rest) | 0x80);
            rest >>= 7;
        }
        bytes.push(low(rest));
    }
    bytes
}

fn low(number: u64) -> u8 {
    u8::try_from(number & 0x7f).unwrap_or(0)
}

/// Figures that [`write()`] wrote.
pub(super) fn read(bytes: &[u8]) -> SeriesFigures {
    let mut numbers = Vec::with_capacity(80);
    let (mut number, mut shift) = (0_u64, 0_u32);
    for byte in bytes {
        number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte & 0x80 == 0 {
            let value = (number >> 1).cast_signed();
            numbers.push(if number & 1 == 1 { !value } else { value });
            (number, shift) = (0, 0);
        }
    }
    SeriesFigures::read(&numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_back_as_they_were_written() {
        let mut numbers = *SeriesFigures::default().numbers();
        for (place, number) in [1, -1, 127, 128, -300, i64::MAX, i64::MIN, 1 << 50]
            .into_iter()
            .enumerate()
        {
            numbers[place * 3] = number;
        }
        let figures = SeriesFigures::read(&numbers);
        assert_eq!(read(&write(&figures)), figures);
        assert!(write(&SeriesFigures::default()).is_empty());
        assert_eq!(read(&[]), SeriesFigures::default());
    }
}
