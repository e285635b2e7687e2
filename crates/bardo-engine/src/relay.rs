//! The stage that hands an answer over, and the end of its request: a whole answer is settled first,
//! a stream at its end.

use bardo_ledger::StoreError;
use bardo_wire::receipt;

use crate::answer::{Answer, AnswerBody, AnswerStream, BOOKS_WAIT, Delivering, Whole};
use crate::engine::Engine;
use crate::engine_future::boxed;
use crate::head::AnswerHead;
use crate::record::RequestRecord;
use crate::reply_stream::ReplyStream;
use crate::usage_figures::{UsageFigures, in_answer};

impl Engine {
    /// The stage: hands over what will be delivered. No content reaches the caller, or those that follow
    /// its request, before its hold or its charge is stored. A stream settles itself as its last content is read; dropping it
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
    let Whole {
        ended,
        body,
        figures,
    } = whole;
    let answer = |record: &RequestRecord| Answer {
        head: boxed(|| AnswerHead::whole(record)),
        body: AnswerBody::Whole(match figures {
            UsageFigures::Added => in_answer(body, &receipt::figures(record.receipt())),
            UsageFigures::Omitted => body,
        }),
    };
    // Held here, since requests that follow get the answer behind the end of its record.
    let recording = ended.record().recording().cloned();
    let begin = || recording.iter().for_each(|recording| recording.begin());
    let ended = match ended.at_once() {
        Ok(over) => {
            begin();
            return Ok(answer(over.record()));
        }
        Err(ended) => ended,
    };
    match ended.within(BOOKS_WAIT).await {
        Ok(over) => {
            begin();
            Ok(answer(over.record()))
        }
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
    if let Some(recording) = reply.record().recording() {
        recording.begin();
    }
    Ok(Answer {
        head: boxed(|| AnswerHead::begun(reply.record())),
        body: AnswerBody::Stream(AnswerStream::Own(reply)),
    })
}
