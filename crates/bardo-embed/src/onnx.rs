//! Models from ONNX files, run by `rten`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rten::{ModelOptions, NodeId, OpRegistry, RunOptions, ThreadPool, ValueOrView};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};
use sha2::{Digest as _, Sha256};

/// A graph that reads token ids.
pub(crate) struct Onnx {
    graph: rten::Model,
    inputs: Vec<(NodeId, Fill)>,
    output: NodeId,
    /// One thread: a model never takes more than one core.
    pool: Arc<ThreadPool>,
}

/// What an input of an encoder holds.
#[derive(Clone, Copy)]
enum Fill {
    Tokens,
    Ones,
    Zeros,
}

impl Onnx {
    /// Loads a file, and answers with the hash of what it read.
    ///
    /// # Errors
    /// A reason in words.
    pub(crate) fn load(path: &Path) -> Result<(Self, String), String> {
        let unreadable = |error: &dyn std::error::Error| format!("{}: {error}", path.display());
        let mut hash = Sha256::new();
        let bytes = std::fs::read(path).map_err(|error| unreadable(&error))?;
        hash.update(&bytes);
        for beside in files_beside(&bytes) {
            let beside = path.with_file_name(beside);
            let weights = std::fs::read(&beside).map_err(|error| {
                format!("{}, named by {}: {error}", beside.display(), path.display())
            })?;
            hash.update(weights);
        }
        drop(bytes);
        let mut options = ModelOptions::with_ops(operators());
        // A second copy of the matrices, which saves most of the time of a short text.
        options.prepack_weights(true);
        let graph = options
            .load_file(path)
            .map_err(|error| unreadable(&error))?;
        let onnx = Self {
            inputs: inputs(&graph)?,
            output: output(&graph)?,
            pool: Arc::new(ThreadPool::with_num_threads(1)),
            graph,
        };
        let hash = hash.finalize();
        Ok((
            onnx,
            hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// The states of all tokens, or one vector of the whole text, in rows; and their width.
    pub(crate) fn states(&self, ids: &[u32]) -> Result<(Vec<f32>, usize), String> {
        let filled = |fill| {
            let values = match fill {
                Fill::Tokens => ids.iter().map(|&id| id.cast_signed()).collect(),
                Fill::Ones => vec![1; ids.len()],
                Fill::Zeros => vec![0; ids.len()],
            };
            NdTensor::from_data([1, ids.len()], values)
        };
        let inputs = self.inputs.iter();
        let inputs = inputs.map(|&(id, fill)| (id, ValueOrView::from(filled(fill))));
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.pool)));
        let [states] = self
            .graph
            .run_n(inputs.collect(), [self.output], Some(options))
            .map_err(|error| error.to_string())?;
        if let Ok(rows) = NdTensorView::<f32, 3>::try_from(&states) {
            return Ok((rows.to_vec(), rows.size(2)));
        }
        let unfit = |_| "the model gives no vectors of float32".to_owned();
        let one = NdTensorView::<f32, 2>::try_from(&states).map_err(unfit)?;
        Ok((one.to_vec(), one.size(1)))
    }
}

/// Names of the files that a graph takes weights from, as its entries `location` have them.
fn files_beside(graph: &[u8]) -> BTreeSet<String> {
    const ENTRY: &[u8] = b"\x0a\x08location\x12";
    let places = graph.windows(ENTRY.len()).enumerate();
    let places = places.filter(|(_, window)| *window == ENTRY);
    let name = |at: usize| {
        let rest = graph.get(at + ENTRY.len()..)?;
        let (length, rest) = rest.split_first()?;
        let name = rest.get(..usize::from(*length))?;
        std::str::from_utf8(name).ok().map(String::from)
    };
    places.filter_map(|(at, _)| name(at)).collect()
}

fn inputs(graph: &rten::Model) -> Result<Vec<(NodeId, Fill)>, String> {
    let fill = |&id: &NodeId| {
        let name = graph
            .node_info(id)
            .and_then(|node| node.name().map(String::from));
        match name.as_deref() {
            Some("input_ids") => Ok((id, Fill::Tokens)),
            Some("attention_mask") => Ok((id, Fill::Ones)),
            Some("token_type_ids") => Ok((id, Fill::Zeros)),
            other => Err(format!(
                "the model has the input {}, and only input_ids, attention_mask and token_type_ids can be filled",
                other.unwrap_or("without a name")
            )),
        }
    };
    graph.input_ids().iter().map(fill).collect()
}

fn output(graph: &rten::Model) -> Result<NodeId, String> {
    const NAMES: [&str; 3] = [
        "last_hidden_state",
        "token_embeddings",
        "sentence_embedding",
    ];
    let named = NAMES.iter().find_map(|name| graph.find_node(name));
    let named = named.filter(|id| graph.output_ids().contains(id));
    named
        .or_else(|| graph.output_ids().first().copied())
        .ok_or_else(|| "the model has no output".into())
}

/// Operators of encoders; the linker leaves out the rest.
fn operators() -> OpRegistry {
    rten::op_registry!(
        Abs,
        Add,
        And,
        Cast,
        CastLike,
        Clip,
        Concat,
        ConstantOfShape,
        Cos,
        CumSum,
        DequantizeLinear,
        Div,
        DynamicQuantizeLinear,
        Einsum,
        Equal,
        Erf,
        Exp,
        Expand,
        Flatten,
        Gather,
        GatherElements,
        GatherND,
        Gelu,
        Gemm,
        Greater,
        GreaterOrEqual,
        Identity,
        LayerNormalization,
        Less,
        LessOrEqual,
        Log,
        MatMul,
        MatMulInteger,
        Max,
        Min,
        Mul,
        Neg,
        Not,
        OneHot,
        Or,
        Pow,
        QuantizeLinear,
        Range,
        Reciprocal,
        ReduceL2,
        ReduceMax,
        ReduceMean,
        ReduceSum,
        Relu,
        Reshape,
        RotaryEmbedding,
        ScatterND,
        Shape,
        Sigmoid,
        Sin,
        Slice,
        Softmax,
        Split,
        Sqrt,
        Squeeze,
        Sub,
        Tanh,
        Tile,
        Transpose,
        Trilu,
        Unsqueeze,
        Where
    )
}
