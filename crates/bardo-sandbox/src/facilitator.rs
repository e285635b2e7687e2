//! An x402 facilitator: verify, settle, supported.

use http::Method;
use serde_json::{Value, json};

use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::world::World;
use crate::x402::{self, FACILITATOR, NETWORK, Payer};

/// Answers below `/facilitator`.
pub(crate) fn handle(request: &Recorded, world: &World) -> Reply {
    match (&request.method, request.path.as_str()) {
        (&Method::GET, "/supported") => Reply::json(200, &supported()),
        (&Method::POST, "/verify") => match parsed(request) {
            Some((payment, requirement)) => verify(&payment, &requirement, world),
            None => malformed(),
        },
        (&Method::POST, "/settle") => match parsed(request) {
            Some((payment, requirement)) => settle(&payment, &requirement, world),
            None => malformed(),
        },
        _ => refuse(404, request),
    }
}

fn supported() -> Value {
    json!({
        "kinds": [
            { "x402Version": 2, "scheme": "exact", "network": NETWORK },
            { "x402Version": 2, "scheme": "upto", "network": NETWORK,
                "extra": { "facilitatorAddress": FACILITATOR } },
        ],
        "extensions": ["eip2612GasSponsoring"],
        "signers": { "eip155:*": [FACILITATOR] },
    })
}

fn parsed(request: &Recorded) -> Option<(Value, Value)> {
    let body = request.json().ok()?;
    let part = |name: &str| body.get(name).filter(|part| part.is_object()).cloned();
    Some((part("paymentPayload")?, part("paymentRequirements")?))
}

fn malformed() -> Reply {
    Reply::json(
        400,
        &json!({ "error": "invalid_payload",
            "message": "paymentPayload and paymentRequirements are required" }),
    )
}

fn checked(payment: &Value, requirement: &Value, world: &World) -> Result<Payer, &'static str> {
    let payer = x402::check(payment, requirement, world.now_ms() / 1_000)?;
    if world.shelf.get(&settled(&payer)).is_some() {
        return Err(match requirement["scheme"].as_str() {
            Some("upto") => "permit2_invalid_nonce",
            _ => "invalid_exact_evm_nonce_already_used",
        });
    }
    Ok(payer)
}

/// The payer that a refused payment names, if it names one.
fn named_payer(payment: &Value) -> Value {
    let from = [
        "/payload/authorization/from",
        "/payload/permit2Authorization/from",
    ];
    from.iter()
        .find_map(|path| payment.pointer(path))
        .cloned()
        .unwrap_or(json!(""))
}

fn verify(payment: &Value, requirement: &Value, world: &World) -> Reply {
    match checked(payment, requirement, world) {
        Ok(payer) => Reply::json(200, &json!({ "isValid": true, "payer": payer.address })),
        Err(reason) => Reply::json(
            200,
            &json!({ "isValid": false, "invalidReason": reason, "payer": named_payer(payment) }),
        ),
    }
}

fn settle(payment: &Value, requirement: &Value, world: &World) -> Reply {
    let outcome = checked(payment, requirement, world).and_then(|payer| {
        let amount = x402::atomic(&requirement["amount"]).unwrap_or(0);
        let is_upto = requirement["scheme"] == "upto";
        // A zero settlement sends no transaction, and the nonce stays usable.
        if amount == 0 && is_upto {
            return Ok((payer, String::new(), amount, is_upto));
        }
        if !world.shelf.claim(&settled(&payer), json!(amount)) {
            return Err("invalid_exact_evm_nonce_already_used");
        }
        let transaction = world.hex_id("0x", 64, &[payer.claim().as_bytes()]);
        Ok((payer, transaction, amount, is_upto))
    });
    let network = &requirement["network"];
    match outcome {
        Ok((payer, transaction, amount, is_upto)) => {
            let mut receipt = json!({ "success": true, "payer": payer.address,
                "transaction": transaction, "network": network });
            if is_upto {
                receipt["amount"] = json!(amount.to_string());
            }
            Reply::json(200, &receipt)
        }
        Err(reason) => Reply::json(
            200,
            &json!({ "success": false, "errorReason": reason, "payer": named_payer(payment),
                "transaction": "", "network": network }),
        ),
    }
}

fn settled(payer: &Payer) -> String {
    format!("settled:{}", payer.claim())
}

/// A refusal with this status.
pub(crate) fn refuse(status: u16, _request: &Recorded) -> Reply {
    Reply::json(status, &json!({ "error": "facilitator_unavailable" }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::x402::tests::{payment, requirement};

    fn call(world: &World, path: &str, payment: &Value, requirement: &Value) -> Value {
        let body = json!({ "x402Version": 2, "paymentPayload": payment, "paymentRequirements": requirement });
        handle(&Recorded::test("facilitator", path, &body), world).body()
    }

    #[test]
    fn a_payment_verifies_settles_once_and_never_again() {
        let world = World::new(7, Vec::new());
        let wanted = requirement("1000");
        let paid = payment(&wanted, 'a', world.now_ms() / 1_000);
        assert_eq!(call(&world, "/verify", &paid, &wanted)["isValid"], true);
        let receipt = call(&world, "/settle", &paid, &wanted);
        assert_eq!(
            (&receipt["success"], &receipt["network"]),
            (&json!(true), &json!(NETWORK))
        );
        assert_eq!(receipt["transaction"].as_str().map(str::len), Some(66));
        let again = call(&world, "/settle", &paid, &wanted);
        assert_eq!(again["errorReason"], "invalid_exact_evm_nonce_already_used");
        assert_eq!(call(&world, "/verify", &paid, &wanted)["isValid"], false);
    }

    #[test]
    fn the_requirement_decides_and_not_what_the_client_accepted() {
        let world = World::new(7, Vec::new());
        let paid = payment(&requirement("1"), 'b', world.now_ms() / 1_000);
        let answer = call(&world, "/verify", &paid, &requirement("1000"));
        assert_eq!(
            answer["invalidReason"],
            "invalid_exact_evm_payload_authorization_value_mismatch"
        );
    }

    #[test]
    fn a_body_without_a_payment_is_malformed() {
        let world = World::new(7, Vec::new());
        let request = Recorded::test("facilitator", "/verify", &json!({}));
        assert_eq!(handle(&request, &world).status, 400);
    }
}
