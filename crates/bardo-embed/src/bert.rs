//! The layers of all-MiniLM-L6-v2, on integer matrices, with the kernels of `rten`.
//!
//! `model/make.py` describes what the weights are and how they were made.

mod rows;

use std::collections::HashMap;
use std::marker::PhantomData;

use rten_gemm::{GemmError, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::SimdOp as _;
use rten_tensor::NdTensorView;
use rten_vecmath::Softmax;

use rows::{AddProduct, NormRows, ProductEnd, QuantizedRows, Rescale, SetGelu, SetProduct};

const LAYERS: usize = 6;
const HIDDEN: usize = 384;
const HEADS: usize = 12;
const HEAD: usize = HIDDEN / HEADS;
const WIDE: usize = 4 * HIDDEN;
/// Tokens that pass a layer together: their numbers stay in the cache of a core.
const BLOCK: usize = 64;

const WEIGHTS: &[u8] = include_bytes!("../model/all-MiniLM-L6-v2-int8.onnx.data");
const INDEX: &str = include_str!("../model/all-MiniLM-L6-v2-int8.index");

type Integers = GemmExecutor<u8, i8, i32>;

/// The encoder, its matrices in the order that this CPU's instructions want.
pub(crate) struct Bert {
    integers: Integers,
    floats: GemmExecutor,
    words: &'static [u8],
    word_scales: &'static [u8],
    positions: &'static [u8],
    normed: Norm,
    layers: Vec<EncoderLayer>,
    room: RunBuffers,
}

/// Memory of a run, kept for the next one.
#[derive(Default)]
struct RunBuffers {
    scratch: Scratch,
    joined: Vec<f32>,
    mixed: Vec<f32>,
    wide: Vec<f32>,
    shares: Vec<f32>,
    own: Vec<f32>,
}

/// Memory of one product of matrices.
#[derive(Default)]
struct Scratch {
    input: QuantizedRows,
    product: Vec<i32>,
}

struct EncoderLayer {
    query_key_value: Linear,
    attended: Linear,
    norm1: Norm,
    wide: Linear,
    narrow: Linear,
    norm2: Norm,
}

/// x · W + b with W in integers.
struct Linear {
    packed: PackedBMatrix<i8>,
    /// Factors of the inputs, where some are far larger than the rest.
    balance: Option<Vec<f32>>,
    scales: Vec<f32>,
    /// Sums of the columns, multiplied by their scales.
    sums: Vec<f32>,
    bias: Vec<f32>,
}

struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// Where each weight lies.
struct WeightIndex(HashMap<&'static str, &'static [u8]>);

impl WeightIndex {
    fn read() -> Option<Self> {
        let rows = INDEX.lines().map(|line| {
            let mut words = line.split(' ');
            let name = words.next()?;
            let start: usize = words.next()?.parse().ok()?;
            let length: usize = words.next()?.parse().ok()?;
            Some((name, WEIGHTS.get(start..start + length)?))
        });
        rows.collect::<Option<_>>().map(Self)
    }

    fn bytes(&self, name: &str) -> Option<&'static [u8]> {
        self.0.get(name).copied()
    }

    fn floats(&self, name: &str) -> Option<Vec<f32>> {
        self.bytes(name).map(|bytes| floats(bytes).collect())
    }

    fn norm(&self, name: &str) -> Option<Norm> {
        Some(Norm {
            weight: self.floats(&format!("{name}.weight"))?,
            bias: self.floats(&format!("{name}.bias"))?,
        })
    }

    fn linear(&self, integers: &Integers, name: &str) -> Option<Linear> {
        let bytes = self.bytes(&format!("{name}.weight"))?;
        let weight: Vec<i8> = bytes.iter().map(|byte| byte.cast_signed()).collect();
        let bias = self.floats(&format!("{name}.bias"))?;
        let scales = self.floats(&format!("{name}.scale"))?;
        let mut sums = vec![0; bias.len()];
        for row in weight.chunks_exact(bias.len()) {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += i32::from(*value);
            }
        }
        let sums = sums.iter().zip(&scales);
        let shape = [weight.len() / bias.len(), bias.len()];
        Some(Linear {
            packed: integers.prepack_b(NdTensorView::from_data(shape, &weight[..])),
            balance: self.floats(&format!("{name}.balance")),
            sums: sums.map(|(&sum, scale)| sum as f32 * scale).collect(),
            scales,
            bias,
        })
    }
}

impl Bert {
    /// Arranges the weights of the program for this CPU.
    ///
    /// # Errors
    /// When the program was built from files that do not belong together.
    pub(crate) fn load() -> Result<Self, String> {
        Self::read().ok_or_else(|| "the weights in the program do not fit their index".into())
    }

    fn read() -> Option<Self> {
        let weights = WeightIndex::read()?;
        let integers = Integers::new();
        let layer = |at: usize| {
            let linear = |name: &str| weights.linear(&integers, &format!("{at}.{name}"));
            Some(EncoderLayer {
                query_key_value: linear("qkv")?,
                attended: linear("attended")?,
                norm1: weights.norm(&format!("{at}.norm1"))?,
                wide: linear("wide")?,
                narrow: linear("narrow")?,
                norm2: weights.norm(&format!("{at}.norm2"))?,
            })
        };
        Some(Self {
            words: weights.bytes("words")?,
            word_scales: weights.bytes("words.scale")?,
            positions: weights.bytes("positions")?,
            normed: weights.norm("normed")?,
            layers: (0..LAYERS).map(layer).collect::<Option<_>>()?,
            floats: GemmExecutor::new(),
            integers,
            room: RunBuffers::default(),
        })
    }

    /// The states of all tokens after the last layer, [`HIDDEN`] numbers each. `ids` are at most
    /// 512 numbers of the vocabulary.
    pub(crate) fn states(&mut self, ids: &[u32]) -> Result<Vec<f32>, String> {
        let mut states = self
            .embedded(ids)
            .ok_or("a token is not in the vocabulary of the model")?;
        let mut room = std::mem::take(&mut self.room);
        for layer in &self.layers {
            self.layer(layer, &mut states, &mut room)
                .map_err(|error| error.to_string())?;
        }
        self.room = room;
        Ok(states)
    }

    fn embedded(&self, ids: &[u32]) -> Option<Vec<f32>> {
        let mut states = Vec::with_capacity(ids.len() * HIDDEN);
        for (place, &id) in ids.iter().enumerate() {
            let word = row(self.words, id as usize, HIDDEN)?;
            let scale = floats(row(self.word_scales, id as usize, 4)?).next()?;
            let position = floats(row(self.positions, place, HIDDEN * 4)?);
            let word = word
                .iter()
                .map(|byte| f32::from(byte.cast_signed()) * scale);
            states.extend(word.zip(position).map(|(word, place)| word + place));
        }
        self.normed.apply(&mut states);
        Some(states)
    }

    /// Replaces the states of all tokens by those after one layer.
    fn layer(
        &self,
        layer: &EncoderLayer,
        states: &mut [f32],
        room: &mut RunBuffers,
    ) -> Result<(), GemmError> {
        let integers = &self.integers;
        grow(&mut room.joined, 3 * states.len());
        for (to, from) in room.joined[..3 * states.len()]
            .chunks_mut(BLOCK * 3 * HIDDEN)
            .zip(states.chunks(BLOCK * HIDDEN))
        {
            let linear = &layer.query_key_value;
            linear.apply::<SetProduct>(integers, from, to, &mut room.scratch)?;
        }
        self.attention(states.len() / HIDDEN, room)?;
        let scratch = &mut room.scratch;
        for (states, mixed) in states
            .chunks_mut(BLOCK * HIDDEN)
            .zip(room.mixed.chunks(BLOCK * HIDDEN))
        {
            let mixed = &mixed[..states.len()];
            let (attended, wide_in, narrow) = (&layer.attended, &layer.wide, &layer.narrow);
            attended.apply::<AddProduct>(integers, mixed, states, scratch)?;
            layer.norm1.apply(states);
            grow(&mut room.wide, BLOCK * WIDE);
            let wide = &mut room.wide[..states.len() / HIDDEN * WIDE];
            wide_in.apply::<SetGelu>(integers, states, wide, scratch)?;
            narrow.apply::<AddProduct>(integers, wide, states, scratch)?;
            layer.norm2.apply(states);
        }
        Ok(())
    }

    /// Mixes the values of all tokens by the likeness of queries and keys, head by head: from
    /// `room.joined` to `room.mixed`.
    fn attention(&self, tokens: usize, room: &mut RunBuffers) -> Result<(), GemmError> {
        grow(&mut room.mixed, tokens * HIDDEN);
        grow(&mut room.shares, tokens * tokens);
        grow(&mut room.own, tokens * HEAD);
        let joined = &room.joined[..tokens * 3 * HIDDEN];
        let joined = NdTensorView::from_data([tokens, 3 * HIDDEN], joined);
        let shares = &mut room.shares[..tokens * tokens];
        let own = &mut room.own[..tokens * HEAD];
        for head in 0..HEADS {
            let part = |which: usize| {
                let start = which * HIDDEN + head * HEAD;
                joined.slice((.., start..start + HEAD))
            };
            let (query, key, value) = (part(0), part(1), part(2));
            let scaled = GemmOptions {
                alpha: 1.0 / (HEAD as f32).sqrt(),
                ..GemmOptions::default()
            };
            let keys = GemmInputB::Unpacked(key.transposed());
            self.floats
                .gemm(shares, GemmInputA::Unpacked(query), keys, scaled)?;
            for row in shares.chunks_exact_mut(tokens) {
                Softmax::new_mut(row).dispatch();
            }
            self.floats.gemm(
                own,
                GemmInputA::Unpacked(NdTensorView::from_data([tokens, tokens], &shares[..])),
                GemmInputB::Unpacked(value),
                GemmOptions::default(),
            )?;
            let mixed = room.mixed.chunks_exact_mut(HIDDEN);
            for (to, from) in mixed.zip(own.chunks_exact(HEAD)) {
                to[head * HEAD..(head + 1) * HEAD].copy_from_slice(from);
            }
        }
        Ok(())
    }
}

impl Linear {
    /// `input` times the matrix, row by row, into `to`.
    fn apply<F: ProductEnd>(
        &self,
        integers: &Integers,
        input: &[f32],
        to: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), GemmError> {
        let width = self.packed.rows();
        let rows = &mut scratch.input;
        rows.fill(input, width, self.balance.as_deref());
        let tokens = rows.scales.len();
        grow(&mut scratch.product, to.len());
        let product = &mut scratch.product[..to.len()];
        integers.gemm(
            product,
            GemmInputA::Unpacked(NdTensorView::from_data([tokens, width], &rows.bytes[..])),
            GemmInputB::Packed(&self.packed),
            GemmOptions::default(),
        )?;
        let rescale = Rescale {
            product,
            rows,
            columns: &self.scales,
            sums: &self.sums,
            bias: &self.bias,
            to,
            finish: PhantomData::<F>,
        };
        rescale.dispatch();
        Ok(())
    }
}

impl Norm {
    fn apply(&self, rows: &mut [f32]) {
        let (weight, bias) = (&self.weight, &self.bias);
        NormRows { rows, weight, bias }.dispatch();
    }
}

/// Makes room for `length` numbers; what is there stays.
fn grow<T: Clone + Default>(numbers: &mut Vec<T>, length: usize) {
    if numbers.len() < length {
        numbers.resize(length, T::default());
    }
}

fn row(bytes: &'static [u8], at: usize, width: usize) -> Option<&'static [u8]> {
    bytes.get(at * width..(at + 1) * width)
}

fn floats(bytes: &'static [u8]) -> impl Iterator<Item = f32> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|four| f32::from_le_bytes(*four))
}
