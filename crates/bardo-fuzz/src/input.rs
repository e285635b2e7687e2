/// Bytes of knobs before the payload.
pub(crate) const KNOBS: usize = 4;

/// The first bytes of an input: choices among the ways to run it, and a seed for its cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knobs(pub [u8; KNOBS]);

impl Knobs {
    /// Parts an input into its knobs and its payload; `None` when it is too short for knobs.
    #[must_use]
    pub fn part(data: &[u8]) -> Option<(Self, &[u8])> {
        let (knobs, payload) = data.split_first_chunk::<KNOBS>()?;
        Some((Self(*knobs), payload))
    }

    /// The input with these knobs and `payload`.
    #[must_use]
    pub fn with(self, payload: &[u8]) -> Vec<u8> {
        [&self.0, payload].concat()
    }

    /// One of `all`, as the knob at `place` says.
    pub(crate) fn pick<T: Copy>(self, place: usize, all: &[T]) -> T {
        all[usize::from(self.0[place]) % all.len()]
    }

    /// The bits of the knob at `place`.
    pub(crate) fn bit(self, place: usize, bit: u8) -> bool {
        self.0[place] >> bit & 1 == 1
    }

    /// Lengths of successive pieces, mostly short, as the last knob says.
    pub(crate) fn cuts(self) -> Cuts {
        Cuts {
            dice: crate::Dice::new(u64::from(self.0[3]) + 1),
        }
    }
}

/// Lengths of pieces that something is cut into.
pub(crate) struct Cuts {
    dice: crate::Dice,
}

impl Cuts {
    /// The length of the next piece, at least one.
    pub(crate) fn next_length(&mut self) -> usize {
        match self.dice.below(8) {
            0..4 => 1,
            4..6 => 1 + self.dice.below(4),
            6 => 1 + self.dice.below(64),
            _ => 1 + self.dice.below(1_024),
        }
    }

    /// Cuts bytes into pieces.
    pub(crate) fn bytes<'a>(&mut self, mut rest: &'a [u8]) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(self.next_length().min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces
    }

    /// Cuts text between characters.
    pub(crate) fn text<'a>(&mut self, mut rest: &'a str) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let mut at = self.next_length().min(rest.len());
            while !rest.is_char_boundary(at) {
                at += 1;
            }
            let (piece, after) = rest.split_at(at);
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}
