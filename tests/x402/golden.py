"""Signs payments with the official Python client, with fixed keys, nonces and times.

Usage: python3 golden.py > ../../crates/bardo-x402/tests/golden/python.json
"""

import json
import os
import time
from pathlib import Path

NOW_S = 1_800_000_000
NONCE_BYTE = 0x11
# The second of the test keys that local chains come with. Nobody keeps money on it.
KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
OFFERS = Path(__file__).parents[2] / "crates/bardo-x402/tests/golden/offers.json"

from eth_account import Account
from x402.client import x402ClientSync
from x402.http.x402_http_client import x402HTTPClientSync
from x402.mechanisms.evm.exact.register import register_exact_evm_client
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.mechanisms.evm.upto import UptoEvmScheme

time.time = lambda: float(NOW_S)
os.urandom = lambda count: bytes([NONCE_BYTE]) * count


def pay(offers: dict, name: str) -> dict:
    """Pays one offer and returns the header that the client would send."""
    offer = offers[name]
    signer = EthAccountSigner(Account.from_key(KEY))
    client = x402ClientSync()
    register_exact_evm_client(client, signer)
    client.register("eip155:*", UptoEvmScheme(signer))
    http = x402HTTPClientSync(client)
    header = offer.get("header")
    required = http.get_payment_required_response(
        lambda asked: header if asked.upper() == "PAYMENT-REQUIRED" else None,
        offer.get("body"),
    )
    payment = client.create_payment_payload(required)
    [(name_of_header, value)] = http.encode_payment_signature_header(payment).items()
    return {"offer": name, "header": name_of_header.lower(), "value": value}


def main() -> None:
    offers = json.loads(OFFERS.read_text())
    names = ["exact_v2", "exact_sepolia_v2", "exact_permit2_v2", "upto_v2", "exact_v1"]
    golden = {
        "now_s": NOW_S,
        "nonce_byte": NONCE_BYTE,
        "cases": {name: pay(offers, name) for name in names},
    }
    print(json.dumps(golden, indent=2))


if __name__ == "__main__":
    main()
