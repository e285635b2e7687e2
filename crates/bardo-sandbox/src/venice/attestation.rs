//! Evidence: a quote that binds a model's key and the caller's nonce, and signatures of answers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secp256k1::SecretKey;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::fault::Flaw;
use crate::recorded::Recorded;
use crate::reply::{Content, Reply};
use crate::venice::Refusal;
use crate::venice::cipher::{self, to_hex};
use crate::venice::models::{self, Row};
use crate::world::World;

/// Bytes before the body of a quote.
const HEADER_BYTES: usize = 48;
/// Bytes of the body.
const BODY_BYTES: usize = 584;

/// The signing key of a model's enclave.
pub(super) fn model_secret(model: &str, world: &World) -> SecretKey {
    cipher::secret(&world.digest(&[b"venice enclave", model.as_bytes()]))
}

fn model_of(request: &Recorded) -> Result<Row, Refusal> {
    let model = request.query_value("model").unwrap_or_default();
    models::find(&model)
        .filter(|row| row.can("supportsTeeAttestation"))
        .ok_or_else(|| Refusal::new(404, "Specified model not found"))
}

/// Answers `GET /tee/attestation`.
pub(super) fn attest(request: &Recorded, world: &World) -> Result<Reply, Refusal> {
    let row = model_of(request)?;
    let failed = || Refusal {
        details: json!("nonce must be 32 bytes of hex"),
        ..Refusal::new(502, "TEE attestation failed")
    };
    let asked = request.query_value("nonce").unwrap_or_default();
    let mut nonce = cipher::from_hex(&asked)
        .filter(|nonce| nonce.len() == 32)
        .ok_or_else(failed)?;
    let mut echoed = asked;
    let flaw = request.faults.attestation_flaw();
    if flaw == Some(Flaw::Nonce) {
        nonce.reverse();
        echoed = to_hex(&nonce);
    }
    let public = model_secret(row.id(), world).public_key();
    let address = match flaw {
        // The quote then speaks for another key than the one that is shown.
        Some(Flaw::Binding) => cipher::address(&model_secret("another", world).public_key()),
        _ => cipher::address(&public),
    };
    let quote = quote(world, row.id(), &address, &nonce, flaw == Some(Flaw::Debug));
    let verified = flaw != Some(Flaw::Unverified);
    Ok(Reply::json(
        200,
        &json!({
            "verified": verified, "nonce": echoed, "model": row.id(),
            "upstream_model": row.id().trim_start_matches("e2ee-"),
            "tee_provider": "near-ai", "tee_hardware": "intel-tdx", "nonce_source": "client",
            "intel_quote": STANDARD.encode(quote),
            "nvidia_payload": json!({ "nonce": echoed, "arch": "HOPPER", "evidence_list": [] }).to_string(),
            "signing_key": to_hex(&cipher::public_bytes(&public)),
            "signing_public_key": to_hex(&cipher::public_bytes(&public)),
            "signing_address": format!("0x{}", to_hex(&cipher::address(&public))),
            "signing_algo": "ecdsa",
            "server_verification": { "tdx": { "valid": verified }, "nvidia": { "valid": verified },
                "signingAddressBinding": { "bound": true }, "nonceBinding": { "bound": true } },
            "event_log": "[]",
            "info": { "app_id": "sandbox", "compose_hash": to_hex(&measurement(world, "compose")[..32]) },
        }),
    ))
}

/// A TDX quote: header, measurements, report data. Its signature part is filler, because no
/// sandbox can have Intel's.
fn quote(world: &World, model: &str, address: &[u8; 20], nonce: &[u8], debug: bool) -> Vec<u8> {
    let mut quote = vec![0_u8; HEADER_BYTES + BODY_BYTES];
    quote[0] = 4;
    quote[2] = 2;
    quote[4] = 0x81;
    let mut put = |at: usize, bytes: &[u8]| {
        quote[HEADER_BYTES + at..HEADER_BYTES + at + bytes.len()].copy_from_slice(bytes);
    };
    put(16, &measurement(world, "seam"));
    put(120, &[u8::from(debug), 0, 0, 0x10, 0, 0, 0, 0]);
    put(136, &measurement(world, model));
    for (at, name) in [(328, "rt0"), (376, "rt1"), (424, "rt2"), (472, "rt3")] {
        put(at, &measurement(world, name));
    }
    put(520, address);
    put(520 + 32, nonce);
    let filler = world.digest(&[b"quote signature"]);
    quote.extend((filler.len() as u32).to_le_bytes());
    quote.extend(filler);
    quote
}

fn measurement(world: &World, name: &str) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..32].copy_from_slice(&world.digest(&[b"measurement", name.as_bytes()]));
    bytes[32..].copy_from_slice(&world.digest(&[b"measurement end", name.as_bytes()])[..16]);
    bytes
}

/// Keeps what a later signature speaks about.
pub(super) fn remember(request: &Recorded, row: Row, reply: &Reply, world: &World) {
    let mut all = Sha256::new();
    let mut first = None;
    match &reply.content {
        Content::Whole(body) => {
            all.update(body);
            first = serde_json::from_slice::<Value>(body).ok();
        }
        Content::Stream(pieces) => {
            for piece in pieces {
                all.update(&piece.bytes);
                first = first
                    .or_else(|| serde_json::from_slice(piece.bytes.strip_prefix(b"data: ")?).ok());
            }
        }
    }
    let Some(id) = first.as_ref().and_then(|object| object["id"].as_str()) else {
        return;
    };
    let request_hash = to_hex(&Sha256::digest(&request.body));
    let text = format!("{}:{request_hash}:{}", row.id(), to_hex(&all.finalize()));
    world.shelf.put(&format!("tee:{id}"), json!(text));
}

/// Answers `GET /tee/signature`.
pub(super) fn signature(request: &Recorded, world: &World) -> Result<Reply, Refusal> {
    let row = model_of(request)?;
    let id = request.query_value("request_id").unwrap_or_default();
    let held = world.shelf.get(&format!("tee:{id}"));
    let Some(text) = held.as_ref().and_then(Value::as_str) else {
        return Err(Refusal::new(502, "TEE signature failed"));
    };
    let secret = model_secret(row.id(), world);
    let signature = cipher::sign(&secret, text);
    Ok(Reply::json(
        200,
        &json!({ "text": text, "signature": format!("0x{}", to_hex(&signature)),
            "signing_address": format!("0x{}", to_hex(&cipher::address(&secret.public_key()))),
            "signing_algo": "ecdsa" }),
    ))
}
