//! A chain of one node, with stand-ins for the contracts of payments at their real addresses.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::process::{Folder, ServerProcess, free_port};
use super::{ServerError, find};

/// The contracts, compiled: `tests/chain/compile.mjs` writes the file.
const CONTRACTS: &str = include_str!("contracts.json");
/// How often another port is tried when one is taken at the last moment.
const STARTS_MAX: u32 = 5;
/// How often a transaction's block is looked for, and the pause between.
const LOOKS: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);
/// The account that mints: the last of the node's own.
const MINTER: &str = "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720";

/// A node of a chain with id 8453 (Base), gone with this value. Each transaction makes a block. The
/// node's own accounts have 10,000 ETH each.
pub struct ChainNode {
    // Dropped before the folder it works in.
    running: ServerProcess,
    _folder: Folder,
    port: u16,
    mines: AtomicBool,
}

impl ChainNode {
    /// USDC on Base.
    pub const USDC: &'static str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
    /// Permit2, on all chains.
    pub const PERMIT2: &'static str = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
    /// The identity registry of agents on Base (ERC-8004).
    const IDENTITY_REGISTRY: &'static str = "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432";
    /// The registry of feedback on agents on Base (ERC-8004).
    const REPUTATION_REGISTRY: &'static str = "0x8004BAa17C55a88189AE136b182e5fdA19dE9b63";
    /// The proxy of x402's scheme `upto`, on all chains.
    pub const UPTO_PROXY: &'static str = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";

    /// Starts one.
    ///
    /// # Errors
    /// When Anvil is not installed or does not start.
    pub fn start() -> Result<Self, ServerError> {
        let folder = Folder::new("chain")?;
        let program = folder.within_reach(&find::anvil()?)?;
        let mut attempt = 1;
        let (running, port) = loop {
            let port = free_port()?;
            let mut command = folder.command(&program);
            command
                .args(["--host", "127.0.0.1", "--port", &port.to_string()])
                .args(["--chain-id", "8453", "--no-request-size-limit"]);
            match ServerProcess::start(&command, "KILL", "Listening on", &folder) {
                Ok(running) => break (running, port),
                Err(ServerError::Failed { output, .. })
                    if attempt < STARTS_MAX && output.contains("in use") => {}
                Err(error) => return Err(error),
            }
            attempt += 1;
        };
        let node = Self {
            running,
            _folder: folder,
            port,
            mines: AtomicBool::new(true),
        };
        node.place_contracts()?;
        Ok(node)
    }

    /// The address of its JSON-RPC.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Stops answering without closing anything, as a network that loses packets does.
    pub fn freeze(&self) {
        self.running.pause();
    }

    /// Lets the node answer again.
    pub fn thaw(&self) {
        self.running.signal("CONT");
    }

    /// Calls a method and answers its result.
    ///
    /// # Errors
    /// When the node does not answer, or refuses the call.
    pub fn call(&self, method: &str, params: &Value) -> Result<Value, ServerError> {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let body = message.to_string();
        let exchange = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            write!(
                stream,
                "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            )?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = exchange().map_err(ServerError::io("call a node"))?;
        let failed = || ServerError::Failed {
            program: format!("anvil: {method}"),
            output: answer.clone(),
        };
        let (_, json) = answer.split_once("\r\n\r\n").ok_or_else(failed)?;
        let mut json: Value = serde_json::from_str(json).map_err(|_| failed())?;
        match json.get("result") {
            Some(_) => Ok(json["result"].take()),
            None => Err(failed()),
        }
    }

    /// Gives an account this many smallest units of USDC.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn mint(&self, account: &str, units: u64) -> Result<(), ServerError> {
        let data = format!("0x40c10f19{}{units:064x}", word(account));
        self.send(MINTER, Self::USDC, &data)
    }

    /// Lets Permit2 take this many smallest units of an account's USDC.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn approve_permit2(&self, account: &str, units: u64) -> Result<(), ServerError> {
        let data = format!("0x095ea7b3{}{units:064x}", word(Self::PERMIT2));
        self.as_account(account, Self::USDC, &data)
    }

    /// Registers an agent with its owner and a number of good reviews, in both registries.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn register(&self, agent: u64, owner: &str, reviews: u64) -> Result<(), ServerError> {
        let data = format!("0x9a8434e5{agent:064x}{}{reviews:064x}", word(owner));
        self.send(MINTER, Self::IDENTITY_REGISTRY, &data)?;
        self.send(MINTER, Self::REPUTATION_REGISTRY, &data)
    }

    /// Sends all USDC of an account away.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn empty(&self, account: &str) -> Result<(), ServerError> {
        let units = self.balance(account)?;
        self.transfer(account, MINTER, units)
    }

    /// Sends USDC from one account to another.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn transfer(&self, from: &str, to: &str, units: u64) -> Result<(), ServerError> {
        let data = format!("0xa9059cbb{}{units:064x}", word(to));
        self.as_account(from, Self::USDC, &data)
    }

    /// The USDC of an account, in smallest units.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn balance(&self, account: &str) -> Result<u64, ServerError> {
        let data = format!("0x70a08231{}", word(account));
        let call = json!([{ "to": Self::USDC, "data": data }, "latest"]);
        let told = self.call("eth_call", &call)?;
        Ok(number(&told))
    }

    /// The number of the newest block.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn head(&self) -> Result<u64, ServerError> {
        let told = self.call("eth_blockNumber", &json!([]))?;
        Ok(number(&told))
    }

    /// Makes this many blocks.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn mine(&self, blocks: u64) -> Result<(), ServerError> {
        self.call("anvil_mine", &json!([format!("{blocks:#x}")]))?;
        Ok(())
    }

    /// The name of the chain as it is now, to go back to.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn snapshot(&self) -> Result<Value, ServerError> {
        self.call("evm_snapshot", &json!([]))
    }

    /// Goes back to a snapshot: all blocks since then are gone.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn revert(&self, snapshot: &Value) -> Result<(), ServerError> {
        self.call("evm_revert", &json!([snapshot]))?;
        Ok(())
    }

    /// Whether each transaction makes a block by itself.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn mines_by_itself(&self, does: bool) -> Result<(), ServerError> {
        self.mines.store(does, Ordering::Relaxed);
        self.call("evm_setAutomine", &json!([does]))?;
        Ok(())
    }

    /// Sends a call as an account whose key nobody has.
    fn as_account(&self, from: &str, to: &str, data: &str) -> Result<(), ServerError> {
        self.call("anvil_impersonateAccount", &json!([from]))?;
        self.call("anvil_setBalance", &json!([from, "0xde0b6b3a7640000"]))?;
        self.send(from, to, data)?;
        self.call("anvil_stopImpersonatingAccount", &json!([from]))?;
        Ok(())
    }

    fn send(&self, from: &str, to: &str, data: &str) -> Result<(), ServerError> {
        let call = json!([{ "from": from, "to": to, "data": data }]);
        let hash = self.call("eth_sendTransaction", &call)?;
        // The node answers before the block is there.
        for _ in 0..LOOKS {
            let receipt = self.call("eth_getTransactionReceipt", &json!([hash]))?;
            if !receipt.is_null() || !self.mines.load(Ordering::Relaxed) {
                break;
            }
            std::thread::park_timeout(PAUSE);
        }
        Ok(())
    }

    fn place_contracts(&self) -> Result<(), ServerError> {
        let code: Value = serde_json::from_str(CONTRACTS).unwrap_or_default();
        // An empty text as the argument of its constructor.
        let empty = format!("{:064x}{:064x}", 32, 0);
        for (address, name, arguments) in [
            (Self::USDC, "MiniUSDC", empty.as_str()),
            (Self::PERMIT2, "MiniPermit2", ""),
            (Self::UPTO_PROXY, "MiniUptoProxy", ""),
            (Self::IDENTITY_REGISTRY, "MiniRegistry", ""),
            (Self::REPUTATION_REGISTRY, "MiniRegistry", ""),
        ] {
            let code = code[name].as_str().unwrap_or_default();
            self.place(address, &format!("{code}{arguments}"))?;
        }
        // `init("USD Coin")`.
        let name: String = "USD Coin"
            .bytes()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let data = format!("0xf9fbdb9e{:064x}{:064x}{name:0<64}", 32, 8);
        self.send(MINTER, Self::USDC, &data)
    }

    /// Runs the code that makes a contract at an address, so that what it remembers of its own
    /// address is right.
    fn place(&self, address: &str, code: &str) -> Result<(), ServerError> {
        self.call("anvil_setCode", &json!([address, code]))?;
        let made = self.call("eth_call", &json!([{ "to": address }, "latest"]))?;
        self.call("anvil_setCode", &json!([address, made]))?;
        Ok(())
    }
}

/// An address as an argument in calldata.
fn word(address: &str) -> String {
    let digits = address.trim_start_matches("0x").to_lowercase();
    format!("{digits:0>64}")
}

/// The number that a node tells in hexadecimal digits; 0 where it told none.
fn number(told: &Value) -> u64 {
    let digits = told.as_str().unwrap_or_default().trim_start_matches("0x");
    let digits = digits.trim_start_matches('0');
    u64::from_str_radix(digits, 16).unwrap_or(0)
}
