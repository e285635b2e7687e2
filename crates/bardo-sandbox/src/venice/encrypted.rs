//! The encrypted mode of a chat: user and system texts in, every delta out.

use secp256k1::{PublicKey, SecretKey};
use serde_json::Value;

use crate::chat::flag;
use crate::recorded::Recorded;
use crate::reply::{Content, Piece, Reply};
use crate::venice::Refusal;
use crate::venice::attestation::model_secret;
use crate::venice::cipher::{self, Unopened};
use crate::venice::models::Row;
use crate::world::World;

/// One request in encrypted mode.
pub(super) struct Session {
    client: PublicKey,
    model_secret: SecretKey,
    /// Makes the ephemeral keys repeatable.
    salt: [u8; 32],
}

impl Session {
    /// The session of a request with all three headers. With one missing, the service quietly
    /// treats the request as plain text, and so does this.
    pub(super) fn of(
        request: &Recorded,
        body: &Value,
        row: Row,
        world: &World,
    ) -> Result<Option<Self>, Refusal> {
        let header = |name: &str| request.header(name).filter(|value| !value.is_empty());
        let (Some(client), Some(model), Some(algorithm)) = (
            header("x-venice-tee-client-pub-key"),
            header("x-venice-tee-model-pub-key"),
            header("x-venice-tee-signing-algo"),
        ) else {
            return Ok(None);
        };
        let off = body.pointer("/venice_parameters/enable_e2ee") == Some(&Value::Bool(false));
        if off {
            return Ok(None);
        }
        if !row.can("supportsE2EE") {
            return Err(Refusal::new(
                400,
                "The selected model does not support E2EE",
            ));
        }
        if algorithm != "ecdsa" {
            return Err(Refusal::new(400, "Unsupported signing algorithm"));
        }
        let model_secret = model_secret(row.id(), world);
        let client = cipher::public_from_hex(client)
            .ok_or_else(|| Refusal::new(400, "Invalid public key"))?;
        if cipher::public_from_hex(model) != Some(model_secret.public_key()) {
            return Err(Refusal::new(400, "Invalid public key"));
        }
        if !flag(body, "stream") {
            return Err(Refusal::new(400, "E2EE requires streaming"));
        }
        if body.get("tools").is_some() {
            return Err(Refusal::new(400, "Tools are not supported with E2EE"));
        }
        let salt = world.digest(&[b"e2ee", &request.body]);
        Ok(Some(Self {
            client,
            model_secret,
            salt,
        }))
    }

    /// Replaces the encrypted contents by their plain texts.
    pub(super) fn decrypt_messages(&self, body: &mut Value) -> Result<(), Refusal> {
        let messages = body.get_mut("messages").and_then(Value::as_array_mut);
        for message in messages.into_iter().flatten() {
            if !matches!(message["role"].as_str(), Some("user" | "system")) {
                continue;
            }
            let hex = message["content"].as_str().unwrap_or_default();
            let plain = cipher::open(&self.model_secret, hex).map_err(|unopened| {
                Refusal::new(
                    400,
                    match unopened {
                        Unopened::NotHex => "Encrypted field is not valid hex",
                        Unopened::Undecryptable => "Failed to decrypt field",
                    },
                )
            })?;
            message["content"] = Value::String(String::from_utf8_lossy(&plain).into_owned());
        }
        Ok(())
    }

    /// Encrypts every text delta on its own.
    pub(super) fn encrypt_reply(&self, reply: &mut Reply, world: &World) {
        let Content::Stream(pieces) = &mut reply.content else {
            return;
        };
        for (at, piece) in pieces.iter_mut().enumerate() {
            let event = std::str::from_utf8(&piece.bytes)
                .ok()
                .and_then(|text| text.strip_prefix("data: "))
                .and_then(|data| serde_json::from_str::<Value>(data).ok());
            let Some(mut event) = event else { continue };
            let mut changed = false;
            for name in ["content", "reasoning_content"] {
                let path = format!("/choices/0/delta/{name}");
                let Some(field) = event.pointer_mut(&path) else {
                    continue;
                };
                if let Some(text) = field.as_str().filter(|text| !text.is_empty()) {
                    *field = Value::String(self.seal(text, at, name, world));
                    changed = true;
                }
            }
            if changed {
                *piece = Piece {
                    delay_ms: piece.delay_ms,
                    ..Piece::data(piece.part, &event)
                };
            }
        }
    }

    fn seal(&self, text: &str, at: usize, name: &str, world: &World) -> String {
        let place = at.to_be_bytes();
        let key = world.digest(&[b"ephemeral", &self.salt, &place, name.as_bytes()]);
        let digest = world.digest(&[b"nonce", &self.salt, &place, name.as_bytes()]);
        let mut nonce = [0; 12];
        nonce.copy_from_slice(&digest[..12]);
        cipher::seal(&self.client, &cipher::secret(&key), &nonce, text.as_bytes())
    }
}
