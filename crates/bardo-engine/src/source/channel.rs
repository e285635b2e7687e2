//! What lies between the bytes of a provider and their reader.

use bytes::Bytes;

use super::Broken;

/// The layer between the bytes of a provider and their reader: plain or sealed.
pub(crate) enum Channel {
    /// The bytes are the answer.
    Plain,
    /// The bytes were sealed for this request.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "no provider seals its answers yet")
    )]
    Sealed(Box<dyn Unseal>),
}

/// Opens bytes that were sealed for one request.
pub(crate) trait Unseal: Send {
    /// Opens the next bytes, which may be cut anywhere. Empty: more are needed first.
    ///
    /// # Errors
    /// When they were not sealed for this request.
    fn open(&mut self, sealed: Bytes) -> Result<Bytes, Broken>;

    /// Opens what is left at the end of the body.
    ///
    /// # Errors
    /// When the body ended within a sealed part.
    fn end(&mut self) -> Result<Bytes, Broken>;
}

impl Channel {
    /// Opens the next bytes. Empty: more are needed first.
    pub(super) fn open(&mut self, data: Bytes) -> Result<Bytes, Broken> {
        match self {
            Self::Plain => Ok(data),
            Self::Sealed(unseal) => unseal.open(data),
        }
    }

    /// Opens what is left at the end of the body.
    pub(super) fn end(&mut self) -> Result<Bytes, Broken> {
        match self {
            Self::Plain => Ok(Bytes::new()),
            Self::Sealed(unseal) => unseal.end(),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::super::AnswerSource;
    use super::*;

    /// Parts of a length byte and as many bytes, each with its bits turned.
    #[derive(Default)]
    struct Toy(BytesMut);

    impl Unseal for Toy {
        fn open(&mut self, sealed: Bytes) -> Result<Bytes, Broken> {
            self.0.extend_from_slice(&sealed);
            let mut open = BytesMut::new();
            while let Some(length) = self.0.first().map(|&byte| usize::from(byte)) {
                if self.0.len() <= length {
                    break;
                }
                let part = self.0.split_to(length + 1);
                open.extend(part[1..].iter().map(|byte| !byte));
            }
            Ok(open.freeze())
        }

        fn end(&mut self) -> Result<Bytes, Broken> {
            match self.0.is_empty() {
                true => Ok(Bytes::new()),
                false => Err(Broken::new("the body ended within a sealed part")),
            }
        }
    }

    fn seal(parts: &[&str]) -> Vec<u8> {
        let mut sealed = Vec::new();
        for part in parts {
            sealed.push(u8::try_from(part.len()).expect("a short part"));
            sealed.extend(part.bytes().map(|byte| !byte));
        }
        sealed
    }

    async fn read(sealed: &[u8], cut: usize) -> Result<String, Broken> {
        let pieces = sealed.chunks(cut).map(Bytes::copy_from_slice);
        let mut source =
            AnswerSource::of_bytes(pieces).through(Channel::Sealed(Box::new(Toy::default())));
        let mut open = Vec::new();
        while let Some(data) = source.data().await {
            open.extend_from_slice(&data?);
        }
        Ok(String::from_utf8(open).expect("text"))
    }

    #[tokio::test]
    async fn a_sealed_answer_is_opened_before_anything_reads_it_however_it_is_cut() {
        let sealed = seal(&["data: {}", "\n\n", "data: [DONE]\n\n"]);
        for cut in 1..=sealed.len() {
            let open = read(&sealed, cut).await;
            assert_eq!(open.as_deref(), Ok("data: {}\n\ndata: [DONE]\n\n"), "{cut}");
        }
        let torn = read(&sealed[..sealed.len() - 1], 4).await;
        assert_eq!(
            torn,
            Err(Broken::new("the body ended within a sealed part"))
        );
    }
}
