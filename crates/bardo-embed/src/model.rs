//! Models in ONNX, run by `rten`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rten::{ModelOptions, NodeId, OpRegistry, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};
use sha2::{Digest as _, Sha256};

use crate::encoder::{Encoded, Encoder};
use crate::spec::{ModelSpec, Pooling, Source};
use crate::tokenizer::Vocabulary;
use crate::vector::Vector;

/// A model that is ready to run on the thread that loaded it.
pub(crate) struct OnnxModel {
    spec: ModelSpec,
    namespace: String,
    vocabulary: Vocabulary,
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

impl OnnxModel {
    /// Loads a model and runs it once, to see that it fits its description.
    ///
    /// # Errors
    /// A reason in words.
    pub(crate) fn load(spec: &ModelSpec) -> Result<Self, String> {
        let (graph, content) = match &spec.source {
            Source::BuiltIn => built_in()?,
            Source::File(path) => from_file(path)?,
        };
        let vocabulary = vocabulary(spec.vocabulary.as_ref())?;
        let mut model = Self {
            namespace: namespace(spec, &content),
            vocabulary,
            inputs: inputs(&graph)?,
            output: output(&graph)?,
            pool: Arc::new(ThreadPool::with_num_threads(1)),
            spec: spec.clone(),
            graph,
        };
        model.encode("a first sentence", model.spec.tokens_max)?;
        Ok(model)
    }

    fn pooled(&self, states: &Value) -> Result<Vec<f32>, String> {
        let unfit = || format!("{} gives no vectors of float32", self.spec.name);
        let values = if let Ok(rows) = NdTensorView::<f32, 3>::try_from(states) {
            match self.spec.pooling {
                _ if rows.size(1) == 0 => Vec::new(),
                Pooling::First => rows.slice((0, 0)).to_vec(),
                Pooling::Mean => mean(rows.slice(0)),
            }
        } else {
            let one = NdTensorView::<f32, 2>::try_from(states).map_err(|_| unfit())?;
            one.slice(0).to_vec()
        };
        if values.len() == self.spec.dimension {
            return Ok(values);
        }
        Err(format!(
            "{} gives vectors of {} numbers, and {} are configured",
            self.spec.name,
            values.len(),
            self.spec.dimension
        ))
    }
}

impl Encoder for OnnxModel {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn encode(&mut self, text: &str, tokens_max: usize) -> Result<Encoded, String> {
        let max = tokens_max.min(self.spec.tokens_max);
        let text = match self.spec.prefix.as_str() {
            "" => Cow::Borrowed(text),
            prefix => Cow::Owned([prefix, text].concat()),
        };
        let tokens = self.vocabulary.encode(&text, max);
        let shape = [1, tokens.ids.len()];
        let filled = |fill| {
            NdTensor::from_data(
                shape,
                match fill {
                    Fill::Tokens => tokens.ids.iter().map(|&id| id.cast_signed()).collect(),
                    Fill::Ones => vec![1; tokens.ids.len()],
                    Fill::Zeros => vec![0; tokens.ids.len()],
                },
            )
        };
        let inputs = self.inputs.iter();
        let inputs = inputs.map(|&(id, fill)| (id, ValueOrView::from(filled(fill))));
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.pool)));
        let [states] = self
            .graph
            .run_n(inputs.collect(), [self.output], Some(options))
            .map_err(|error| format!("{} failed on a text: {error}", self.spec.name))?;
        let vector = Vector::normalized(self.pooled(&states)?)
            .ok_or_else(|| format!("{} gave a vector without a length", self.spec.name))?;
        Ok(Encoded {
            vector,
            tokens: tokens.ids.len(),
            cut: tokens.cut,
        })
    }
}

fn mean(rows: NdTensorView<f32, 2>) -> Vec<f32> {
    let mut sum = vec![0.0; rows.size(1)];
    for row in 0..rows.size(0) {
        for (sum, value) in sum.iter_mut().zip(rows.slice(row).iter()) {
            *sum += value;
        }
    }
    let count = rows.size(0) as f32;
    sum.iter().map(|sum| sum / count).collect()
}

fn namespace(spec: &ModelSpec, content: &str) -> String {
    let mut hash = Sha256::new();
    for part in [content, &spec.prefix, &format!("{:?}", spec.pooling)] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    let short: String = hash
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("rten/{}/{}/{short}", spec.name, spec.dimension)
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

/// The matrices are brought into the order of the CPU's instructions while the model loads: a second
/// copy of them, which saves most of the time of a short text.
fn options() -> ModelOptions {
    let mut options = ModelOptions::with_ops(operators());
    options.prepack_weights(true);
    options
}

/// The words stay where the program has them, and only those that texts use come into memory.
#[cfg(feature = "minilm")]
fn built_in() -> Result<(rten::Model, String), String> {
    const GRAPH: &[u8] = include_bytes!("../model/all-MiniLM-L6-v2-int8.onnx");
    let weights = rten::include_external_data!("../model/all-MiniLM-L6-v2-int8.onnx.data");
    let model = options()
        .external_data_static("all-MiniLM-L6-v2-int8.onnx.data", weights)
        .load_static_slice(GRAPH)
        .map_err(|error| format!("the model in the program cannot be read: {error}"))?;
    Ok((model, include_str!("../model/SHA256SUMS").into()))
}

#[cfg(not(feature = "minilm"))]
fn built_in() -> Result<(rten::Model, String), String> {
    Err("this build carries no model".into())
}

fn from_file(path: &Path) -> Result<(rten::Model, String), String> {
    let unreadable = |error: &dyn std::error::Error| format!("{}: {error}", path.display());
    let mut hash = Sha256::new();
    hash.update(std::fs::read(path).map_err(|error| unreadable(&error))?);
    for ending in [".data", "_data"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(ending);
        if let Ok(weights) = std::fs::read(PathBuf::from(beside)) {
            hash.update(weights);
        }
    }
    let model = options()
        .load_file(path)
        .map_err(|error| unreadable(&error))?;
    let hash = hash.finalize();
    Ok((
        model,
        hash.iter().map(|byte| format!("{byte:02x}")).collect(),
    ))
}

fn vocabulary(file: Option<&PathBuf>) -> Result<Vocabulary, String> {
    const BERT_UNCASED: &str = include_str!("../model/vocab.txt");
    let Some(file) = file else {
        return Vocabulary::parse(Cow::Borrowed(BERT_UNCASED)).map_err(|error| error.to_string());
    };
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Vocabulary::parse(Cow::Owned(text)).map_err(|error| format!("{}: {error}", file.display()))
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
