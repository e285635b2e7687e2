"""A chain of one node, with stand-ins for the contracts of payments at their real addresses.

`BARDO_TEST_ANVIL` is the folder with `anvil`; `cargo xtask servers` fetches it where the machine
has none.
"""

import json
import os
import pathlib
import re
import shutil
import time

from agents import isolation

from . import install, process, services

CONTRACTS = install.REPO / "crates" / "bardo-store" / "src" / "servers" / "contracts.json"
USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
UPTO_PROXY = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002"
# `keccak256("Transfer(address,address,uint256)")`: the topic of a token's transfer.
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
BLOCK_SECONDS = 10
# `init("USD Coin")`, the name in the real contract's EIP-712 domain.
INIT = "0xf9fbdb9e" + f"{32:064x}{8:064x}" + b"USD Coin".hex().ljust(64, "0")


def anvil() -> str:
    folder = os.environ.get("BARDO_TEST_ANVIL")
    found = shutil.which("anvil", path=folder) if folder else shutil.which("anvil")
    if not found:
        raise RuntimeError("anvil is not here; run `cargo xtask servers` and set BARDO_TEST_ANVIL")
    return found


def word(address: str) -> str:
    """An address as an argument in calldata, and as a topic without its `0x`."""
    return address.removeprefix("0x").lower().rjust(64, "0")


class Chain:
    """A node with chain id 8453 (Base). Each transaction makes a block. Amounts are millionths of USDC."""

    def __init__(self, stack, place: pathlib.Path, accounts: int) -> None:
        argv = [
            *(anvil(), "--host", "127.0.0.1", "--port", "0", "--chain-id", "8453"),
            *("--accounts", str(accounts)),
        ]
        env = isolation.environment(place / "chain-home")
        node = stack.enter_context(process.Server("anvil", argv, place / "anvil.log", env))
        printed = node.printed("Listening on")
        self.url = "http://" + re.search(r"Listening on (\S+)", printed)[1]
        # The node's own accounts: their keys are public, and each has ETH.
        self.addresses = re.findall(r"^\(\d+\) (0x[0-9a-fA-F]{40})\b", printed, re.MULTILINE)
        self.keys = re.findall(r"^\(\d+\) (0x[0-9a-fA-F]{64})\b", printed, re.MULTILINE)
        assert len(self.addresses) == len(self.keys) == accounts, printed[-2000:]
        code = json.loads(CONTRACTS.read_text())
        # The argument of USDC's constructor is an empty text: what it stores would be lost here.
        self.place(USDC, code["MiniUSDC"] + f"{32:064x}{0:064x}")
        self.place(PERMIT2, code["MiniPermit2"])
        self.place(UPTO_PROXY, code["MiniUptoProxy"])
        self.send(self.addresses[0], USDC, INIT)

    def call(self, method: str, *params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        answer = services.fetch(self.url, method="POST", body=body, headers={"content-type": "application/json"})
        answer = json.loads(answer)
        if "result" not in answer:
            raise RuntimeError(f"anvil: {method}: {answer}")
        return answer["result"]

    def place(self, address: str, code: str) -> None:
        """Runs the code that makes a contract at an address, so that it knows its own address."""
        self.call("anvil_setCode", address, code)
        self.call("anvil_setCode", address, self.call("eth_call", {"to": address}, "latest"))

    def send(self, sender: str, to: str, data: str) -> None:
        """Sends a call and waits for its block: the node answers before it makes one."""
        transaction = self.call("eth_sendTransaction", {"from": sender, "to": to, "data": data})
        deadline = time.monotonic() + BLOCK_SECONDS
        while (receipt := self.call("eth_getTransactionReceipt", transaction)) is None:
            if time.monotonic() > deadline:
                raise RuntimeError(f"anvil made no block for {transaction}")
            time.sleep(0.01)
        if receipt["status"] != "0x1":
            raise RuntimeError(f"the chain refused {data[:10]} from {sender}")

    def mint(self, account: str, units: int) -> None:
        self.send(self.addresses[0], USDC, f"0x40c10f19{word(account)}{units:064x}")

    def approve_permit2(self, account: str, units: int) -> None:
        self.send(account, USDC, f"0x095ea7b3{word(PERMIT2)}{units:064x}")

    def without_eth(self, account: str) -> None:
        self.call("anvil_setBalance", account, "0x0")

    def balance(self, account: str) -> int:
        call = {"to": USDC, "data": f"0x70a08231{word(account)}"}
        return int(self.call("eth_call", call, "latest"), 16)

    def transfers(self, payer: str, payee: str) -> list:
        """USDC that moved from one account to the other: the transaction and the amount of each."""
        topics = [TRANSFER, f"0x{word(payer)}", f"0x{word(payee)}"]
        logs = self.call("eth_getLogs", {"address": USDC, "fromBlock": "0x0", "topics": topics})
        return [(log["transactionHash"], int(log["data"], 16)) for log in logs]
