//! The layers of all-MiniLM-L6-v2, on integer matrices, with the kernels of `rten`.
//!
//! `model/make.py` describes what the weights are and how they were made.

use std::collections::HashMap;

use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix, QuantParams};
use rten_simd::{SimdOp as _, SimdUnaryOp as _};
use rten_tensor::NdTensorView;
use rten_vecmath::{
    ExtendInit as _, Gelu, MinMax, Normalize, NormalizeOptions, Quantize, Softmax, Sum,
    SumSquareSub,
};

const LAYERS: usize = 6;
const HIDDEN: usize = 384;
const HEADS: usize = 12;
const HEAD: usize = HIDDEN / HEADS;
const EPSILON: f32 = 1e-12;

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
    bias: Vec<f32>,
    zeros: Vec<i8>,
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
        let shape = [weight.len() / bias.len(), bias.len()];
        Some(Linear {
            packed: integers.prepack_b(NdTensorView::from_data(shape, &weight[..])),
            balance: self.floats(&format!("{name}.balance")),
            scales: self.floats(&format!("{name}.scale"))?,
            zeros: vec![0; bias.len()],
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
        })
    }

    /// The states of all tokens after the last layer, [`HIDDEN`] numbers each. `ids` are at most
    /// 512 numbers of the vocabulary.
    pub(crate) fn states(&self, ids: &[u32]) -> Result<Vec<f32>, String> {
        let mut states = self
            .embedded(ids)
            .ok_or("a token is not in the vocabulary of the model")?;
        for layer in &self.layers {
            states = self
                .layer(layer, states)
                .map_err(|error| error.to_string())?;
        }
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

    fn layer(
        &self,
        layer: &EncoderLayer,
        states: Vec<f32>,
    ) -> Result<Vec<f32>, rten_gemm::GemmError> {
        let mixed = self.attention(&layer.query_key_value.apply(&self.integers, &states)?)?;
        let mut middle = layer.attended.apply(&self.integers, &mixed)?;
        add(&mut middle, &states);
        layer.norm1.apply(&mut middle);
        let mut wide = layer.wide.apply(&self.integers, &middle)?;
        Gelu {}.map_mut(&mut wide);
        let mut states = layer.narrow.apply(&self.integers, &wide)?;
        add(&mut states, &middle);
        layer.norm2.apply(&mut states);
        Ok(states)
    }

    /// Mixes the values of all tokens by the likeness of queries and keys, head by head.
    fn attention(&self, joined: &[f32]) -> Result<Vec<f32>, rten_gemm::GemmError> {
        let tokens = joined.len() / (3 * HIDDEN);
        let joined = NdTensorView::from_data([tokens, 3 * HIDDEN], joined);
        let mut mixed = vec![0.0; tokens * HIDDEN];
        let mut shares = vec![0.0; tokens * tokens];
        let mut own = vec![0.0; tokens * HEAD];
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
                .gemm(&mut shares, GemmInputA::Unpacked(query), keys, scaled)?;
            for row in shares.chunks_exact_mut(tokens) {
                Softmax::new_mut(row).dispatch();
            }
            let shares = NdTensorView::from_data([tokens, tokens], &shares[..]);
            self.floats.gemm(
                &mut own,
                GemmInputA::Unpacked(shares),
                GemmInputB::Unpacked(value),
                GemmOptions::default(),
            )?;
            for (to, from) in mixed.chunks_exact_mut(HIDDEN).zip(own.chunks_exact(HEAD)) {
                to[head * HEAD..(head + 1) * HEAD].copy_from_slice(from);
            }
        }
        Ok(mixed)
    }
}

impl Linear {
    fn apply(&self, integers: &Integers, input: &[f32]) -> Result<Vec<f32>, rten_gemm::GemmError> {
        let width = self.packed.rows();
        let balanced: Vec<f32>;
        let input = match &self.balance {
            None => input,
            Some(by) => {
                let rows = input.chunks_exact(width);
                balanced = rows
                    .flat_map(|row| row.iter().zip(by).map(|(value, by)| value * by))
                    .collect();
                &balanced
            }
        };
        let (least, most) = MinMax::new(input).dispatch();
        let (least, most) = (least.min(0.0), most.max(0.0));
        // Inputs that are all zero have any scale.
        let scale = ((most - least) / 255.0).max(f32::MIN_POSITIVE);
        let zero = (-least / scale).clamp(0.0, 255.0).round_ties_even() as u8;
        let mut bytes: Vec<u8> = Vec::with_capacity(input.len());
        bytes.extend_init(|room| {
            Quantize::new(input, &mut room[..input.len()], 1.0 / scale, zero).dispatch()
        });
        let tokens = bytes.len() / width;
        let mut product = vec![0; tokens * self.bias.len()];
        let options = GemmOptions {
            a_quant: Some(QuantParams {
                zero_point: &vec![zero; tokens],
            }),
            b_quant: Some(QuantParams {
                zero_point: &self.zeros,
            }),
            ..GemmOptions::default()
        };
        integers.gemm(
            &mut product,
            GemmInputA::Unpacked(NdTensorView::from_data([tokens, width], &bytes[..])),
            GemmInputB::Packed(&self.packed),
            options,
        )?;
        let mut output = vec![0.0; product.len()];
        let rows = output.chunks_exact_mut(self.bias.len());
        for (to, from) in rows.zip(product.chunks_exact(self.bias.len())) {
            for (((to, from), by), bias) in
                to.iter_mut().zip(from).zip(&self.scales).zip(&self.bias)
            {
                *to = *from as f32 * (by * scale) + bias;
            }
        }
        Ok(output)
    }
}

impl Norm {
    fn apply(&self, states: &mut [f32]) {
        for row in states.chunks_exact_mut(HIDDEN) {
            let mean = Sum::new(row).dispatch() / HIDDEN as f32;
            let variance = SumSquareSub::new(row, mean).dispatch() / HIDDEN as f32;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: 1.0 / (variance + EPSILON).sqrt(),
                element_scale: Some(&self.weight),
                element_bias: Some(&self.bias),
                ..NormalizeOptions::default()
            };
            Normalize::new_mut(row, options).dispatch();
        }
    }
}

fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
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
