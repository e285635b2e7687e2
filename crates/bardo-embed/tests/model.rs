//! The model in the program against its float32 original, and its tokenizer against the original.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use bardo_embed::{Embedded, Embedder, ModelSpec, Skip, Vector, Vocabulary};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

const LONG: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct GoldenTokens {
    text: String,
    ids: Vec<u32>,
}

#[derive(Deserialize)]
struct Golden {
    vectors: Vec<GoldenVector>,
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct GoldenVector {
    text: String,
    vector: Vec<f32>,
}

#[derive(Deserialize)]
struct Pair {
    a: String,
    b: String,
    cosine: f32,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/vectors.json")).expect("golden vectors are JSON")
}

fn model_file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "model", name].iter().collect()
}

async fn embed(embedder: &Embedder, text: &str) -> Embedded {
    let embedded = embedder.embed(text.into(), 256, LONG).await;
    embedded.expect("the model answers")
}

#[test]
fn the_files_of_the_model_are_those_that_the_script_wrote() {
    for line in include_str!("../model/SHA256SUMS").lines() {
        let (sum, name) = line.split_once("  ").expect("a sum and a name");
        let bytes = std::fs::read(model_file(name)).expect("the file is there");
        let hash: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(hash, sum, "{name}");
    }
}

#[test]
fn hard_strings_have_the_token_ids_of_the_original() {
    let words = include_str!("../model/vocab.txt");
    let vocabulary = Vocabulary::parse(Cow::Borrowed(words)).expect("a vocabulary");
    let strings: Vec<GoldenTokens> =
        serde_json::from_str(include_str!("golden/tokens.json")).expect("golden tokens are JSON");
    assert!(strings.len() > 50);
    for GoldenTokens { text, ids } in strings {
        assert_eq!(vocabulary.encode(&text, 256).ids, ids, "{text:?}");
    }
}

#[test]
fn a_vocabulary_read_from_a_file_gives_the_numbers_of_the_one_in_the_program() {
    let words = include_str!("../model/vocab.txt");
    let owned = Vocabulary::parse(Cow::Owned(words.into())).expect("a vocabulary");
    let borrowed = Vocabulary::parse(Cow::Borrowed(words)).expect("a vocabulary");
    let text = "unaffable 東京 0x52908400098527886E0F";
    assert_eq!(owned.encode(text, 64), borrowed.encode(text, 64));
    let lacking = Vocabulary::parse(Cow::Borrowed("[PAD]\n[UNK]\nword"));
    assert_eq!(
        lacking.expect_err("no [CLS]").to_string(),
        "the vocabulary has no line [CLS]"
    );
}

#[test]
fn a_text_of_any_length_is_cut_at_the_limit() {
    let words = include_str!("../model/vocab.txt");
    let vocabulary = Vocabulary::parse(Cow::Borrowed(words)).expect("a vocabulary");
    let tokens = vocabulary.encode(&"word ".repeat(1_000_000), 8);
    assert_eq!((tokens.ids.len(), tokens.cut), (8, true));
    let tokens = vocabulary.encode("word word word word word word", 8);
    assert_eq!((tokens.ids.len(), tokens.cut), (8, false));
}

#[tokio::test]
async fn vectors_are_near_those_of_the_float32_model() {
    let embedder = Embedder::new(ModelSpec::minilm(), 4);
    let mut cosines = Vec::new();
    for GoldenVector { text, vector } in golden().vectors {
        let exact = Vector::normalized(vector).expect("a vector");
        let ours = embed(&embedder, &text).await;
        assert_eq!(ours.vector.values().len(), 384);
        let cosine = ours.vector.cosine(&exact);
        assert!(cosine > 0.97, "{cosine} for {text:?}");
        cosines.push(cosine);
    }
    let mean = cosines.iter().sum::<f32>() / cosines.len() as f32;
    eprintln!(
        "MEAN {mean} MIN {:?}",
        cosines.iter().copied().fold(1.0, f32::min)
    );
    assert!(mean > 0.996, "{mean}");
}

#[tokio::test]
async fn pairs_are_as_near_as_the_float32_model_says_also_in_integers() {
    let embedder = Embedder::new(ModelSpec::minilm(), 4);
    for Pair { a, b, cosine } in golden().pairs {
        let (left, right) = (embed(&embedder, &a).await, embed(&embedder, &b).await);
        let ours = left.vector.cosine(&right.vector);
        assert!(
            (ours - cosine).abs() < 0.06,
            "{ours}, not {cosine}: {a} / {b}"
        );
        let (left, right) = (left.vector.quantized(), right.vector.quantized());
        let dot: i32 = left
            .iter()
            .zip(&right)
            .map(|(a, b)| i32::from(*a) * i32::from(*b))
            .sum();
        assert!((dot as f32 / (127.0 * 127.0) - ours).abs() < 0.01);
    }
}

#[tokio::test]
async fn a_text_has_one_vector_whatever_else_is_asked() {
    let embedder = Embedder::new(ModelSpec::minilm(), 4);
    let alone = embed(&embedder, "How do I reset my password?").await;
    let texts = [
        "short",
        "How do I reset my password?",
        "a much longer text in between",
    ];
    let together = embedder
        .embed_all(texts.map(String::from).into(), 256, LONG)
        .await
        .expect("the model answers");
    assert_eq!(together[1], alone);
    assert!(
        alone
            .namespace
            .starts_with("rten-gemm-int8-token/all-MiniLM-L6-v2/384/")
    );
    assert!(alone.namespace.ends_with("/256"));
}

#[cfg(feature = "onnx")]
#[tokio::test]
async fn a_configured_file_loads_with_its_prefix_and_another_namespace() {
    let file = model_file("all-MiniLM-L6-v2-int8.onnx");
    let prefixed = ModelSpec {
        prefix: "search_query: ".into(),
        ..ModelSpec::file("mine", file)
    };
    let (mine, own) = (
        Embedder::new(prefixed, 4),
        Embedder::new(ModelSpec::minilm(), 4),
    );
    let with_prefix = embed(&mine, "open a pull request").await;
    let spelled_out = embed(&own, "search_query: open a pull request").await;
    assert_ne!(with_prefix.namespace, spelled_out.namespace);
    // One graph and one set of weights, by two ways to run it.
    let cosine = with_prefix.vector.cosine(&spelled_out.vector);
    assert!(cosine > 0.999, "{cosine}");
}

#[cfg(feature = "onnx")]
#[test]
fn what_is_wrong_with_a_configured_model_is_said() {
    let graph = model_file("all-MiniLM-L6-v2-int8.onnx");
    assert_eq!(ModelSpec::file("mine", graph.clone()).check(), Ok(()));
    let said = |spec: ModelSpec| spec.check().expect_err("it cannot serve");
    let missing = said(ModelSpec::file("mine", "/nowhere/model.onnx".into()));
    assert!(missing.starts_with("/nowhere/model.onnx: "), "{missing}");
    let other = said(ModelSpec::file("mine", model_file("vocab.txt")));
    assert!(other.contains("vocab.txt: "), "{other}");
    let tokenizer = said(ModelSpec {
        vocabulary: Some("/nowhere/vocab.txt".into()),
        ..ModelSpec::file("mine", graph.clone())
    });
    assert!(tokenizer.starts_with("/nowhere/vocab.txt: "), "{tokenizer}");
    let no_words = said(ModelSpec {
        vocabulary: Some(model_file("SHA256SUMS")),
        ..ModelSpec::file("mine", graph)
    });
    assert!(
        no_words.ends_with("the vocabulary has no line [CLS]"),
        "{no_words}"
    );
}

#[cfg(feature = "onnx")]
#[tokio::test]
async fn weights_in_a_second_file_and_words_are_part_of_the_namespace() {
    const GRAPH: &str = "all-MiniLM-L6-v2-int8.onnx";
    let folder = std::env::temp_dir().join(format!("bardo-embed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (graph, data) = (folder.join("renamed.onnx"), format!("{GRAPH}.data"));
    std::fs::copy(model_file(GRAPH), &graph).expect("a copy");
    std::fs::copy(model_file(&data), folder.join(&data)).expect("a copy");
    let words = folder.join("words.txt");
    let known = std::fs::read_to_string(model_file("vocab.txt")).expect("words");
    std::fs::write(&words, format!("{known}another\n")).expect("a file");

    let namespace =
        async |spec: ModelSpec| embed(&Embedder::new(spec, 4), "a text").await.namespace;
    let plain = namespace(ModelSpec::file("mine", graph.clone())).await;
    assert!(plain.starts_with("rten/mine/384/"), "{plain}");
    let other_words = namespace(ModelSpec {
        vocabulary: Some(words),
        ..ModelSpec::file("mine", graph.clone())
    });
    assert_ne!(other_words.await, plain);
    let mut weights = std::fs::read(folder.join(&data)).expect("weights");
    weights[800_000] ^= 1;
    std::fs::write(folder.join(&data), weights).expect("a file");
    assert_ne!(namespace(ModelSpec::file("mine", graph)).await, plain);
    let _ = std::fs::remove_dir_all(folder);
}

#[cfg(feature = "onnx")]
#[tokio::test]
async fn a_configured_dimension_that_the_model_lacks_is_refused() {
    let spec = ModelSpec::nomic(model_file("all-MiniLM-L6-v2-int8.onnx"));
    let refused = Embedder::new(spec, 4).embed("text".into(), 64, LONG).await;
    let Err(Skip::Failed(reason)) = refused else {
        panic!("another dimension is a failure: {refused:?}");
    };
    assert_eq!(
        &*reason,
        "nomic-embed-text-v1.5 gives vectors of 384 numbers, and 768 are configured"
    );
}

#[cfg(not(feature = "onnx"))]
#[tokio::test]
async fn a_configured_file_names_the_feature_that_reads_it() {
    let spec = ModelSpec::nomic("/models/nomic.onnx".into());
    let refused = Embedder::new(spec, 4).embed("text".into(), 64, LONG).await;
    assert_eq!(
        refused,
        Err(Skip::Failed(
            "/models/nomic.onnx: this build reads no ONNX files; build it with the feature `onnx`"
                .into()
        ))
    );
}
