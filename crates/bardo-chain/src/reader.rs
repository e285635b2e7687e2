//! Reads that decide about money: several endpoints, and what enough of them agree on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::head::ChainHead;
use crate::hex;
use crate::rpc::{self, RpcAnswer, RpcCall, RpcRefusal, RpcTransport};

/// How a chain is read.
#[derive(Debug, Clone, Copy)]
pub struct ReaderTerms {
    /// The chain that every endpoint must be of.
    pub chain_id: u64,
    /// How many endpoints must agree; 0: more than half of them.
    pub quorum: usize,
}

/// Asks the endpoints of one chain.
#[derive(Clone)]
pub struct ChainReader {
    pub(crate) transport: Arc<dyn RpcTransport>,
    quorum: usize,
    chain_id: u64,
    state: Arc<Mutex<ReaderState>>,
}

#[derive(Default)]
struct ReaderState {
    /// Why an endpoint is not believed at the moment.
    reasons: Vec<Option<String>>,
    head: Option<(Instant, ChainHead)>,
}

/// An endpoint as operators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointState {
    /// Its name, without secrets.
    pub name: String,
    /// Why its last answer was not taken; `None`: it was.
    pub reason: Option<String>,
}

/// Why something is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Too few endpoints answered, or they contradict one another. That says nothing.
    #[error("{0}")]
    Unknown(String),
}

/// What enough endpoints say to one call: a result, or the data of a revert.
pub(crate) type AgreedAnswer = Result<Value, RpcRefusal>;

/// How old the newest block may be when it is read again.
const HEAD_AGE: Duration = Duration::from_millis(500);
/// An endpoint that is this many blocks behind the newest is not believed.
const LAG: u64 = 30;

impl ChainReader {
    /// A reader over endpoints.
    #[must_use]
    pub fn new(transport: Arc<dyn RpcTransport>, terms: ReaderTerms) -> Self {
        let count = transport.endpoints();
        let quorum = match terms.quorum {
            0 => count / 2 + 1,
            quorum => quorum,
        };
        let reasons = vec![None; count];
        Self {
            transport,
            quorum,
            chain_id: terms.chain_id,
            state: Arc::new(Mutex::new(ReaderState {
                reasons,
                head: None,
            })),
        }
    }

    /// Id of the chain.
    #[must_use]
    pub fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// The endpoints and whether they are believed.
    #[must_use]
    pub fn endpoints(&self) -> Vec<EndpointState> {
        let reasons = self.locked().reasons.clone();
        let rows = reasons.into_iter().enumerate();
        rows.map(|(endpoint, reason)| EndpointState {
            name: self.transport.name(endpoint),
            reason,
        })
        .collect()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, ReaderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, endpoint: usize, reason: Option<String>) {
        let mut state = self.locked();
        let known = &mut state.reasons[endpoint];
        if let Some(reason) = reason.as_ref().filter(|_| known.is_none()) {
            let name = self.transport.name(endpoint);
            tracing::warn!(endpoint = name, %reason, "an endpoint of the chain is not believed");
        }
        *known = reason;
    }

    /// The answers of each endpoint that answers at all.
    async fn ask_all(&self, calls: &[RpcCall]) -> Vec<(usize, Vec<RpcAnswer>)> {
        let transport = &*self.transport;
        let all = (0..transport.endpoints()).map(|endpoint| async move {
            (endpoint, rpc::batch(transport, endpoint, calls).await)
        });
        let mut answered = Vec::new();
        for (endpoint, answer) in join_all(all).await {
            match answer {
                Ok(answers) => answered.push((endpoint, answers)),
                Err(failure) => self.note(endpoint, Some(failure.to_string())),
            }
        }
        answered
    }

    /// The newest block that enough endpoints have, at most half a second old.
    ///
    /// # Errors
    /// When too few endpoints answer.
    pub async fn head(&self) -> Result<ChainHead, ReadError> {
        let known = self.locked().head;
        if let Some((at, head)) = known
            && at.elapsed() < HEAD_AGE
        {
            return Ok(head);
        }
        self.fresh_head().await
    }

    /// The newest block that enough endpoints have now.
    ///
    /// # Errors
    /// When too few endpoints answer.
    pub async fn fresh_head(&self) -> Result<ChainHead, ReadError> {
        let call = RpcCall::new("eth_getBlockByNumber", json!(["latest", false]));
        let mut heads: Vec<(usize, ChainHead)> = Vec::new();
        for (endpoint, answers) in self.ask_all(&[call]).await {
            match answers
                .first()
                .and_then(|one| one.as_ref().ok())
                .and_then(ChainHead::read)
            {
                Some(head) => heads.push((endpoint, head)),
                None => self.note(endpoint, Some("it has no newest block".to_owned())),
            }
        }
        heads.sort_by_key(|(_, head)| std::cmp::Reverse(head.number));
        // So many endpoints have this block or a newer one. Another that says it is far ahead, alone,
        // changes nothing.
        let head = heads.get(self.quorum.saturating_sub(1));
        let head = head.map(|(_, head)| *head);
        let head = head.ok_or_else(|| self.too_few(heads.len()))?;
        let same = heads.iter().filter(|(_, other)| *other == head).count();
        let head = match same >= self.quorum {
            true => head,
            // They are not at the same block, or one of them lies about it.
            false => self.head_at(head.number).await?,
        };
        for (endpoint, other) in &heads {
            if other.number + LAG < head.number {
                let behind = head.number - other.number;
                self.note(*endpoint, Some(format!("it is {behind} blocks behind")));
            }
        }
        self.locked().head = Some((Instant::now(), head));
        Ok(head)
    }

    /// What enough endpoints say of one block.
    async fn head_at(&self, number: u64) -> Result<ChainHead, ReadError> {
        let call = RpcCall {
            compared: ChainHead::compared,
            ..RpcCall::new(
                "eth_getBlockByNumber",
                json!([hex::of_number(number), false]),
            )
        };
        let answers = self.agreed(&[call]).await?;
        let block = answers.into_iter().next().and_then(Result::ok);
        let block = block.as_ref().and_then(ChainHead::read);
        block.ok_or_else(|| ReadError::Unknown("the newest block cannot be read".to_owned()))
    }

    fn too_few(&self, found: usize) -> ReadError {
        let wanted = self.quorum;
        ReadError::Unknown(format!(
            "{found} endpoints of the chain agree, and {wanted} are needed"
        ))
    }

    /// What enough endpoints say to calls at one block.
    ///
    /// # Errors
    /// When too few agree.
    pub(crate) async fn agreed(&self, calls: &[RpcCall]) -> Result<Vec<AgreedAnswer>, ReadError> {
        let agreeing = self.agreeing(calls).await?;
        Ok(agreeing.into_iter().next().unwrap_or_default())
    }

    /// The answers of all endpoints that agree, where those are enough.
    ///
    /// # Errors
    /// When too few agree.
    pub(crate) async fn agreeing(
        &self,
        calls: &[RpcCall],
    ) -> Result<Vec<Vec<AgreedAnswer>>, ReadError> {
        let answered = self.ask_all(calls).await;
        let words: Vec<_> = answered
            .iter()
            .map(|(endpoint, answers)| {
                (
                    *endpoint,
                    calls.iter().zip(answers).map(compared).collect::<Vec<_>>(),
                )
            })
            .collect();
        for (_, told) in &words {
            let agreeing = words.iter().filter(|(_, other)| other == told).count();
            if agreeing < self.quorum {
                continue;
            }
            for (endpoint, other) in &words {
                match other == told {
                    true => self.note(*endpoint, None),
                    false if lags(other, told) => {}
                    false => self.note(*endpoint, Some("it contradicts the others".to_owned())),
                }
            }
            let answered = answered.into_iter().zip(&words);
            return Ok(answered
                .filter(|(_, (_, other))| other == told)
                .map(|((_, answers), _)| answers)
                .collect());
        }
        Err(self.too_few(usize::from(!words.is_empty())))
    }

    /// Calls of contracts at one block, each with its contract and calldata.
    pub(crate) fn view(to: [u8; 20], data: &[u8], block: &Value) -> RpcCall {
        let call = json!({ "to": hex::of_bytes(&to), "data": hex::of_bytes(data) });
        RpcCall::new("eth_call", json!([call, block]))
    }

    /// Checks once that the endpoints are of the right chain and that the contracts are there.
    ///
    /// # Errors
    /// When too few endpoints answer, or with what is wrong.
    pub async fn check(
        &self,
        contracts: &[([u8; 20], &str)],
    ) -> Result<Result<(), String>, ReadError> {
        let mut calls = vec![RpcCall::new("eth_chainId", json!([]))];
        calls.extend(contracts.iter().map(|(address, _)| {
            RpcCall::new("eth_getCode", json!([hex::of_bytes(address), "latest"]))
        }));
        let answers = self.agreed(&calls).await?;
        let mut answers = answers.into_iter();
        let id = answers.next().and_then(Result::ok);
        let id = id.as_ref().and_then(hex::number);
        if id != Some(self.chain_id) {
            let wanted = self.chain_id;
            let found = id.map_or_else(|| "unknown".to_owned(), |id| id.to_string());
            return Ok(Err(format!(
                "the endpoints are of chain {found}; chain {wanted} is needed"
            )));
        }
        for ((address, what), code) in contracts.iter().zip(answers) {
            let code = code.ok().as_ref().and_then(hex::bytes).unwrap_or_default();
            if code.is_empty() {
                let address = hex::of_bytes(address);
                return Ok(Err(format!("{what} is not on the chain at {address}")));
            }
        }
        Ok(Ok(()))
    }
}

/// An answer as endpoints are compared by: texts of errors differ between them.
type ComparedAnswer = Result<Value, ComparedRefusal>;

/// Whether a call reverted, and the data of the revert.
type ComparedRefusal = (bool, Option<Vec<u8>>);

/// Whether an endpoint only lacks what others have: it is a block behind.
fn lags(other: &[ComparedAnswer], told: &[ComparedAnswer]) -> bool {
    let mut pairs = other.iter().zip(told);
    pairs.all(|(other, told)| other == told || *other == Ok(Value::Null))
}

fn compared((call, answer): (&RpcCall, &RpcAnswer)) -> ComparedAnswer {
    match answer {
        Ok(value) => Ok((call.compared)(value)),
        Err(refusal) => Err((refusal.is_revert(), refusal.data.clone())),
    }
}

#[cfg(test)]
mod tests;
