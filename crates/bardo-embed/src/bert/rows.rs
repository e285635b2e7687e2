//! Operations on rows of numbers, each in one pass with the widest instructions of the CPU.

use std::marker::PhantomData;

use rten_simd::ops::{BitOps as _, NumOps as _, ToFloat as _};
use rten_simd::{Isa, SimdOp, SimdUnaryOp as _};
use rten_vecmath::{
    ExtendInit as _, Gelu, MinMax, Normalize, NormalizeOptions, Quantize, Sum, SumSquareSub,
};

const EPSILON: f32 = 1e-12;

/// Rows of a matrix in bytes: a number is `byte · scale + shift` of its row.
#[derive(Default)]
pub(super) struct QuantizedRows {
    pub(super) bytes: Vec<u8>,
    pub(super) scales: Vec<f32>,
    pub(super) shifts: Vec<f32>,
    balanced: Vec<f32>,
}

impl QuantizedRows {
    /// Replaces the content by `input`, whose rows have `width` numbers. Each number is multiplied
    /// by that of its column in `balance` first.
    pub(super) fn fill(&mut self, input: &[f32], width: usize, balance: Option<&[f32]>) {
        self.bytes.clear();
        self.scales.clear();
        self.shifts.clear();
        let operation = Quantizing {
            input,
            width,
            balance,
            to: self,
        };
        operation.dispatch();
    }
}

struct Quantizing<'a> {
    input: &'a [f32],
    width: usize,
    balance: Option<&'a [f32]>,
    to: &'a mut QuantizedRows,
}

impl SimdOp for Quantizing<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let to = self.to;
        to.bytes.reserve(self.input.len());
        to.balanced.resize(self.width, 0.0);
        for row in self.input.chunks_exact(self.width) {
            let row = match self.balance {
                None => row,
                Some(by) => {
                    multiply(isa, row, by, &mut to.balanced);
                    &to.balanced
                }
            };
            let (least, most) = MinMax::new(row).eval(isa);
            let (least, most) = (least.min(0.0), most.max(0.0));
            // Inputs that are all zero have any scale.
            let scale = ((most - least) / 255.0).max(f32::MIN_POSITIVE);
            let zero = (-least / scale).clamp(0.0, 255.0).round_ties_even() as u8;
            to.bytes.extend_init(|room| {
                Quantize::new(row, &mut room[..row.len()], 1.0 / scale, zero).eval(isa)
            });
            to.scales.push(scale);
            to.shifts.push(-f32::from(zero) * scale);
        }
    }
}

#[inline(always)]
fn multiply<I: Isa>(isa: I, row: &[f32], by: &[f32], to: &mut [f32]) {
    let ops = isa.f32();
    let step = ops.len();
    let places = to.chunks_exact_mut(step);
    for ((to, row), by) in places
        .zip(row.chunks_exact(step))
        .zip(by.chunks_exact(step))
    {
        ops.store(ops.mul(ops.load(row), ops.load(by)), to);
    }
}

/// What happens to a number of a product before it is stored.
pub(super) trait ProductEnd {
    /// `new` is the number, `old` the content of its place.
    fn finish<I: Isa>(isa: I, new: I::F32, old: I::F32) -> I::F32;
}

/// Stores the product.
pub(super) struct SetProduct;

/// Adds the product to what is there.
pub(super) struct AddProduct;

/// Stores the GELU function of the product.
pub(super) struct SetGelu;

impl ProductEnd for SetProduct {
    #[inline(always)]
    fn finish<I: Isa>(_: I, new: I::F32, _: I::F32) -> I::F32 {
        new
    }
}

impl ProductEnd for AddProduct {
    #[inline(always)]
    fn finish<I: Isa>(isa: I, new: I::F32, old: I::F32) -> I::F32 {
        isa.f32().add(new, old)
    }
}

impl ProductEnd for SetGelu {
    #[inline(always)]
    fn finish<I: Isa>(isa: I, new: I::F32, _: I::F32) -> I::F32 {
        Gelu {}.eval(isa, new)
    }
}

/// Turns a product of bytes and integers into numbers.
///
/// A number is `(product · row scale + row shift · column sum) · column scale + bias`. The sums
/// come multiplied by their scales.
pub(super) struct Rescale<'a, F> {
    pub(super) product: &'a [i32],
    pub(super) rows: &'a QuantizedRows,
    /// One scale for each column; their count is the width of a row, a multiple of 16.
    pub(super) columns: &'a [f32],
    pub(super) sums: &'a [f32],
    pub(super) bias: &'a [f32],
    pub(super) to: &'a mut [f32],
    pub(super) finish: PhantomData<F>,
}

impl<F: ProductEnd> SimdOp for Rescale<'_, F> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let (floats, integers) = (isa.f32(), isa.i32());
        let (step, width) = (floats.len(), self.columns.len());
        let products = self.product.chunks_exact(width);
        let rows = self.to.chunks_exact_mut(width).zip(products);
        let parameters = self.rows.scales.iter().zip(&self.rows.shifts);
        for ((to, product), (scale, shift)) in rows.zip(parameters) {
            let (scale, shift) = (floats.splat(*scale), floats.splat(*shift));
            let columns = self.columns.chunks_exact(step);
            let columns = columns.zip(self.sums.chunks_exact(step));
            let columns = columns.zip(self.bias.chunks_exact(step));
            let places = to.chunks_exact_mut(step).zip(product.chunks_exact(step));
            for ((to, product), ((column, sum), bias)) in places.zip(columns) {
                let product = integers.to_float(integers.load(product));
                let by = floats.mul(floats.load(column), scale);
                let bias = floats.mul_add(floats.load(sum), shift, floats.load(bias));
                let new = floats.mul_add(product, by, bias);
                let old = floats.load(to);
                floats.store(F::finish(isa, new, old), to);
            }
        }
    }
}

/// Brings each row to mean 0 and variance 1, then to the weight and bias of the model.
pub(super) struct NormRows<'a> {
    pub(super) rows: &'a mut [f32],
    /// One number for each column.
    pub(super) weight: &'a [f32],
    pub(super) bias: &'a [f32],
}

impl SimdOp for NormRows<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let width = self.weight.len();
        for row in self.rows.chunks_exact_mut(width) {
            let mean = Sum::new(row).eval(isa) / width as f32;
            let variance = SumSquareSub::new(row, mean).eval(isa) / width as f32;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: 1.0 / (variance + EPSILON).sqrt(),
                element_scale: Some(self.weight),
                element_bias: Some(self.bias),
                ..NormalizeOptions::default()
            };
            Normalize::new_mut(row, options).eval(isa);
        }
    }
}
