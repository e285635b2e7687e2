//! Numbers and texts as bytes.

use std::sync::Arc;

use bardo_types::json::RawJson;

/// Bytes that are no kept answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are no kept answer")]
pub struct Corrupt;

/// Writes what [`ByteReader`] reads.
#[derive(Default)]
pub(super) struct ByteWriter(pub(super) Vec<u8>);

impl ByteWriter {
    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(super) fn flag(&mut self, set: bool) {
        self.byte(u8::from(set));
    }

    /// Seven bits per byte, the lowest first.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn json(&mut self, json: &RawJson) {
        self.text(json.as_str());
    }

    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Reads bytes of any origin. Allocates no more than the input is long.
pub(super) struct ByteReader<'a>(pub(super) &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], Corrupt> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Corrupt)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Corrupt> {
        self.take(N)?.try_into().map_err(|_| Corrupt)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Corrupt> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn flag(&mut self) -> Result<bool, Corrupt> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Corrupt),
        }
    }

    pub(super) fn number(&mut self) -> Result<u64, Corrupt> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Corrupt);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Corrupt)
    }

    pub(super) fn small(&mut self) -> Result<u32, Corrupt> {
        u32::try_from(self.number()?).map_err(|_| Corrupt)
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Corrupt> {
        let len = usize::try_from(self.number()?).map_err(|_| Corrupt)?;
        self.take(len)
    }

    pub(super) fn str(&mut self) -> Result<&'a str, Corrupt> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Corrupt)
    }

    pub(super) fn text(&mut self) -> Result<String, Corrupt> {
        self.str().map(str::to_owned)
    }

    pub(super) fn shared(&mut self) -> Result<Arc<str>, Corrupt> {
        self.str().map(Arc::from)
    }

    pub(super) fn json(&mut self) -> Result<RawJson, Corrupt> {
        RawJson::parse(self.str()?).map_err(|_| Corrupt)
    }

    pub(super) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Corrupt>,
    ) -> Result<Option<T>, Corrupt> {
        if self.flag()? {
            read(self).map(Some)
        } else {
            Ok(None)
        }
    }

    /// As many items as a number says, up to `most`. Grows with the items that are there.
    pub(super) fn list<T>(
        &mut self,
        most: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Corrupt>,
    ) -> Result<Vec<T>, Corrupt> {
        let len = self.number()?;
        // An item takes one byte at least.
        if len > self.0.len().min(most) as u64 {
            return Err(Corrupt);
        }
        (0..len).map(|_| read(self)).collect()
    }
}
