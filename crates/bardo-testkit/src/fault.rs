//! What can go wrong with a provider, by name, and what must come of it.

mod script;

use std::time::Duration;

use bardo_types::model::Dialect;

use crate::answer::Answer;
use crate::dice::Dice;
use crate::upstream::{Asked, Door, Script};

/// The reactions to a fault that the gateway may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The answer arrives all the same, whole and from this provider.
    Answers,
    /// The provider surely did not carry the request out: another one may be asked.
    Refuses,
    /// The provider may have carried the request out, and may bill it; nothing has reached the
    /// caller. No other backend may be called.
    Unknown,
    /// The stream breaks after content: the caller sees a failed stream. Nobody else is asked.
    Breaks,
    /// Either an answer or a failed stream, but never a clean end without all of the text.
    AnswersOrBreaks,
    /// As [`Self::AnswersOrBreaks`]; if both sides speak one dialect, the damage may also be
    /// relayed unchanged.
    RelaysOrBreaks,
}

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $name:ident)*) => {
        /// One way in which a provider goes wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Fault {
            $($(#[doc = $doc])+ $name,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name, e.g. in `BARDO_FAULT`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

faults! {
    /// None: a good answer.
    Healthy
    /// The port is closed.
    ConnectRefused
    /// The connection is never established.
    ConnectHangs
    /// The connection is reset when the request has been read.
    ResetAfterRequest
    /// The connection is cut inside the head.
    HeadTorn
    /// The head takes long, within the limit.
    HeadSlow
    /// The head never comes.
    HeadNever
    /// The head is larger than any head.
    HeadOversized
    /// An interim answer comes first.
    EarlyHints
    /// 429 with seconds in `retry-after`.
    RateLimitedHint
    /// 429 without a hint.
    RateLimitedPlain
    /// 429 with a date in `retry-after`.
    RateLimitedDate
    /// 500 again and again.
    ServerError
    /// 502 with a page of a proxy.
    BadGateway
    /// 503 to the first request, then a good answer.
    UnavailableOnce
    /// 529, or 503 where the dialect has no 529.
    Overloaded
    /// 401 to our key.
    KeyRefused
    /// 402: our account there is empty.
    OutOfFunds
    /// 404: the model is unknown.
    NotFound
    /// 307 to another host.
    Redirect
    /// 200 with a web page.
    WebPage
    /// 200 with nothing.
    EmptyBody
    /// 200 with a compressed body.
    Compressed
    /// 200 with an error as its body.
    ErrorInBody
    /// The head, then silence.
    SilentAfterHead
    /// The head, then only signs of life.
    PingsOnly
    /// No more bytes after half of the events, without an end.
    HalfClose
    /// The connection is cut between two events.
    CutBetween
    /// The connection is cut inside an event.
    CutInside
    /// A chunk's length is no number.
    BadChunk
    /// Less comes than the head promised.
    TooShort
    /// An error event before any content.
    ErrorFirst
    /// An error event after some content.
    ErrorLater
    /// The body ends well and its last event is missing.
    NoTerminal
    /// The terminal event comes twice.
    TerminalTwice
    /// Bytes that are no text.
    NoUtf8
    /// An event that does not end.
    HugeEvent
    /// Events and fields that nobody knows.
    UnknownEvents
    /// Noise after the end.
    TrailingNoise
    /// Usage is missing.
    UsageMissing
    /// Usage comes twice.
    UsageTwice
    /// Usage beside content.
    UsageWithContent
    /// A long pause before the usage.
    UsageLate
    /// Zero bytes in the text.
    Nul
    /// One byte at a time.
    ByteByByte
    /// Long pauses, within the limit.
    Slow
    /// Silence after some content.
    Stalls
    /// Only signs of life after some content.
    PingsLater
    /// Never an end.
    Endless
    /// Clean framing, and the connection closes instead of staying.
    ClosesAfter
}

impl Fault {
    /// The fault of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|fault| fault.name().eq_ignore_ascii_case(name))
    }

    /// The behavior of the provider towards new connections.
    #[must_use]
    pub const fn door(self) -> Door {
        match self {
            Self::ConnectRefused => Door::Refused,
            Self::ConnectHangs => Door::Hangs,
            _ => Door::Open,
        }
    }

    /// The reaction that is required.
    #[must_use]
    pub const fn verdict(self, dialect: Dialect, stream: bool) -> Verdict {
        match self {
            // Nothing but the end of the body is the end here, and noise before it may be anything.
            Self::TrailingNoise if matches!(dialect, Dialect::Gemini) && stream => {
                Verdict::AnswersOrBreaks
            }
            Self::Healthy
            | Self::HeadSlow
            | Self::EarlyHints
            | Self::TerminalTwice
            | Self::UnknownEvents
            | Self::TrailingNoise
            | Self::UsageMissing
            | Self::UsageTwice
            | Self::UsageWithContent
            | Self::UsageLate
            | Self::Nul
            | Self::ByteByByte
            | Self::Slow
            | Self::ClosesAfter => Verdict::Answers,
            Self::ConnectRefused
            | Self::ConnectHangs
            | Self::RateLimitedHint
            | Self::RateLimitedPlain
            | Self::RateLimitedDate
            | Self::ServerError
            | Self::BadGateway
            | Self::UnavailableOnce
            | Self::Overloaded
            | Self::KeyRefused
            | Self::OutOfFunds
            | Self::NotFound
            | Self::Redirect
            | Self::WebPage
            | Self::ErrorInBody
            | Self::ErrorFirst => Verdict::Refuses,
            Self::ResetAfterRequest
            | Self::HeadTorn
            | Self::HeadNever
            | Self::HeadOversized
            | Self::EmptyBody
            | Self::Compressed
            | Self::SilentAfterHead
            | Self::PingsOnly
            | Self::TooShort => Verdict::Unknown,
            Self::HalfClose
            | Self::CutBetween
            | Self::CutInside
            | Self::BadChunk
            | Self::ErrorLater
            | Self::NoTerminal
            | Self::HugeEvent
            | Self::Stalls
            | Self::PingsLater
            | Self::Endless => {
                if stream {
                    Verdict::Breaks
                } else {
                    Verdict::Unknown
                }
            }
            Self::NoUtf8 => Verdict::RelaysOrBreaks,
        }
    }

    /// After so long at most the caller has heard of it, where that is sooner than the total limit.
    #[must_use]
    pub fn noticed_within(self, stream: bool) -> Duration {
        // What comes before the silence takes no longer than this.
        let talk = Duration::from_secs(2);
        match self {
            Self::HeadNever => Patience::HEADER,
            Self::SilentAfterHead | Self::PingsOnly if stream => Patience::FIRST_TOKEN,
            Self::Stalls | Self::PingsLater | Self::HalfClose => talk + Patience::IDLE,
            _ => Patience::TOTAL,
        }
    }

    /// The script of a provider that has this fault.
    #[must_use]
    pub fn script(self, answer: &Answer, asked: &Asked, dice: &mut Dice) -> Script {
        script::of(self, answer, asked, dice)
    }
}

/// A stream that is cut after so many of its events; `torn`, inside the next one.
#[must_use]
pub fn cut_after(answer: &Answer, events: usize, torn: bool) -> Script {
    script::cut_after(answer, events, torn)
}

/// A stream of exactly this body, written in pieces of so many bytes. `framed`: its end is told;
/// else the connection just closes.
#[must_use]
pub fn streams(answer: &Answer, body: &[u8], piece: usize, framed: bool) -> Script {
    script::streams(answer, body, piece, framed)
}

/// The limits that scripts are written against.
#[derive(Debug, Clone, Copy)]
pub struct Patience;

impl Patience {
    /// Time limit to connect.
    pub const CONNECT: Duration = Duration::from_secs(2);
    /// To the head.
    pub const HEADER: Duration = Duration::from_secs(8);
    /// To the first content.
    pub const FIRST_TOKEN: Duration = Duration::from_secs(8);
    /// Time limit between two pieces of data.
    pub const IDLE: Duration = Duration::from_secs(6);
    /// Time limit for the whole answer.
    pub const TOTAL: Duration = Duration::from_secs(30);
    /// Silence towards the caller.
    pub const HEARTBEAT: Duration = Duration::from_secs(3);
}
