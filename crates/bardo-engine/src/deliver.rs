//! The stage that hands an answer over, and the end of its request: a whole answer is settled first,
//! a stream at its end.

use bardo_ledger::StoreError;
use bardo_wire::json;
use bardo_wire::splice::{Edit, splice};
use bytes::Bytes;

use crate::answer::{Answer, AnswerBody, BOOKS_WAIT, Delivering, Whole};
use crate::engine::Engine;
use crate::head::AnswerHead;
use crate::record::RequestRecord;
use crate::relay::ReplyStream;

impl Engine {
    /// The stage: hands over what will be delivered. No content reaches the caller before its hold
    /// or its charge is stored. A stream settles itself as its last content is read; dropping it
    /// leaves that to the settler.
    ///
    /// # Errors
    /// When the ledger does not store what it has to. Nothing is charged then.
    pub(crate) async fn relay(&self, delivering: Delivering) -> Result<Answer, StoreError> {
        match delivering {
            Delivering::Whole(whole) => settle_and_hand_over(whole).await,
            Delivering::Stream(stream) => hand_over_once_held(stream).await,
        }
    }
}

/// The figures of a whole answer are final and on disk when it is handed over.
async fn settle_and_hand_over(whole: Whole) -> Result<Answer, StoreError> {
    let Whole { sent, body, within } = whole;
    let answer = |record: &RequestRecord| Answer {
        head: AnswerHead::whole(record),
        body: AnswerBody::Whole(if within {
            with_figures(body, record)
        } else {
            body
        }),
    };
    let ended = match sent.answered().at_once() {
        Ok(over) => return Ok(answer(over.record())),
        Err(ended) => ended,
    };
    match ended.within(BOOKS_WAIT).await {
        Ok(over) => Ok(answer(over.record())),
        Err((ended, error)) => {
            ended.waive();
            Err(error)
        }
    }
}

async fn hand_over_once_held(mut reply: Box<ReplyStream>) -> Result<Answer, StoreError> {
    // No content may reach the caller before its hold is on disk.
    if let Some(persisting) = reply.persisting() {
        let persisted = tokio::time::timeout(BOOKS_WAIT, persisting).await;
        let late = || StoreError::Unavailable("the hold was not stored in time".to_owned());
        if let Err(error) = persisted.unwrap_or_else(|_| Err(late())) {
            reply.give_up();
            return Err(error);
        }
    }
    Ok(Answer {
        head: AnswerHead::begun(reply.record()),
        body: AnswerBody::Stream(reply),
    })
}

/// The answer with its figures as the member `bardo` of its usage.
fn with_figures(body: Bytes, record: &RequestRecord) -> Bytes {
    let figures = bardo_wire::receipt::figures(record.receipt());
    let Ok(top) = json::scan(&body) else {
        return body;
    };
    let usage = top.get("usage").map_or("", str::trim);
    let usage = match usage.strip_suffix('}').map(str::trim_end) {
        Some(members) if members.len() > 1 => format!("{members},\"bardo\":{figures}}}"),
        _ => format!("{{\"bardo\":{figures}}}"),
    };
    splice(&top, &[Edit::set("usage", usage)]).into()
}
