//! The words that user texts avoid, and what to say instead.

/// Words that are kept out. Alternatives of one word are separated by `/`.
pub(super) struct Pattern {
    pub(super) words: &'static str,
    /// Only at the beginning of a sentence that is no question.
    pub(super) begins: bool,
    /// What follows where the words are fine.
    pub(super) except: &'static [&'static str],
    pub(super) instead: &'static str,
}

const fn anywhere(words: &'static str, instead: &'static str) -> Pattern {
    Pattern {
        words,
        begins: false,
        except: &[],
        instead,
    }
}

const fn unless(
    words: &'static str,
    except: &'static [&'static str],
    instead: &'static str,
) -> Pattern {
    Pattern {
        words,
        begins: false,
        except,
        instead,
    }
}

const fn at_start(words: &'static str, instead: &'static str) -> Pattern {
    Pattern {
        words,
        begins: true,
        except: &[],
        instead,
    }
}

pub(super) const PATTERNS: &[Pattern] = &[
    anywhere(
        "nobody/somebody/everybody/anybody/whoever/whomever/whom",
        "name the thing: a client, a backend, no key",
    ),
    anywhere("abrupt/abruptly", "sudden; or name the event: a kill"),
    anywhere("relapse/relapses", "a new alarm"),
    anywhere(
        "clamp/clamps/clamped",
        "limited to, set to the nearest value",
    ),
    anywhere("floor/floors yields/yield", "goes below the floor"),
    anywhere("unsettled", "not charged yet"),
    anywhere("no one", "name the thing: no backend, no client"),
    anywhere(
        "who answers/asks/serves/is/would/may/else",
        "which backend, which client",
    ),
    anywhere("take/takes/taken/took back", "revoke, revoked"),
    unless(
        "is/are/was/were/be/been taken",
        &["from", "into"],
        "accepted, used, read",
    ),
    unless("is/are/was/were/be/been asked", &["for"], "called, tried"),
    anywhere("asks nobody/no", "is a dry run"),
    anywhere("is/are/was/were/be/been told", "reported, logged"),
    unless(
        "is/are/was/were/be/been kept",
        &["open", "alive", "apart"],
        "stored, retained",
    ),
    anywhere("is/are/was/were away", "unavailable, unreachable"),
    unless("is/are/was/were over", &["budget"], "expired, ended"),
    unless("will do", &["so"], "is enough, works"),
    anywhere("for so long", "how long …"),
    anywhere("so long a/an/the/as/is/to", "how long …, while"),
    anywhere("come/comes/came about", "open, happen"),
    anywhere("to be had", "available"),
    anywhere("shall", "must, or the plain present"),
    anywhere("go/goes/went with it/them", "is deleted too"),
    anywhere("let/lets in", "accept, allow"),
    anywhere("looked at", "checked"),
    anywhere("how alive", "vitality"),
    anywhere("is/are/was gone", "closed, deleted, disconnected"),
    anywhere("say/says otherwise", "unless … sets it"),
    anywhere("is/falls/fell silent", "stops sending"),
    unless(
        "it/they/which/that/this is/are/was/were no",
        &["longer", "more"],
        "is not a",
    ),
    anywhere("told", "reported, instructed"),
    anywhere("asked later/again/all", "called later, called again"),
    anywhere("may answer", "is allowed"),
    anywhere("take/takes no", "does not accept, does not support"),
    anywhere("not take/hold", "does not accept, does not enforce"),
    anywhere("held to", "must match"),
    anywhere("left alone", "not changed"),
    anywhere("leave/leaves/left/leaving out", "remove, omit, skip"),
    anywhere("break/breaks/broke off", "interrupt, close"),
    anywhere("all bounds", "too many, too large"),
    anywhere("hand/hands/handed back/in", "send back, send"),
    anywhere("stand/stands in/for", "replaces"),
    anywhere("so much/many", "this many, how much"),
    anywhere("in its/their own way", "say which setting is missing"),
    anywhere("not understood", "invalid, malformed"),
    anywhere("does not keep", "does not match, does not store"),
    anywhere("insist/insists on", "requires"),
    anywhere("knob", "setting"),
    anywhere("anew", "again"),
    anywhere("makes one", "create one: and the command"),
    at_start(
        "what is/are/was/were/has/had/goes/comes/a/an/the/it/they/callers/one/no",
        "make the noun the subject",
    ),
    at_start("whatever/whichever/who", "make the noun the subject"),
    at_start(
        "where a/an/the/there/it/they/no/this/that/both/several/one/callers",
        "say what happens first, then: if …",
    ),
];
