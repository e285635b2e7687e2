use bardo_types::chat::{Image, MediaSource, Message, Part, Role, Text};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::intent::Intent;
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;

use super::*;

fn request() -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Chat, "m");
    let parts = vec![Part::Text(Text::new("hi"))];
    request.messages.push(Message::new(Role::User, parts));
    request
}

fn cold(request: &ChatRequest) -> CacheCandidate<'_> {
    CacheCandidate {
        request,
        body_bytes: 300,
        wish: None,
        has_profile: false,
        temperature: Some(0.0),
        subsystem: None,
        task: None,
        critical: false,
        class: SecurityClass::Standard,
        keeps_private: false,
        flagged: false,
    }
}

fn subsystem(name: &str, group: &str, creative: bool) -> Subsystem {
    Subsystem {
        name: name.to_owned(),
        group: group.to_owned(),
        intent: Intent::default(),
        profile: None,
        floor: SecurityClass::Standard,
        protected: false,
        locked: false,
        creative,
        interactive: false,
        heartbeat: false,
        route: Vec::new(),
    }
}

#[test]
fn without_a_wish_temperature_zero_alone_is_eligible() {
    let request = request();
    let at = |temperature| {
        may_use(&CacheCandidate {
            temperature,
            ..cold(&request)
        })
    };
    assert_eq!(at(Some(0.0)), Ok(()));
    assert_eq!(at(Some(0.1)), Err(Never::NotAsked));
    assert_eq!(at(None), Err(Never::NotAsked));
    assert_eq!(at(Some(0.9)), Err(Never::Warm));
    assert_eq!(at(Some(f64::NAN)), Err(Never::Warm));
}

#[test]
fn a_wish_or_a_profile_reaches_up_to_point_seven() {
    let request = request();
    for wish in [Wish::Default, Wish::NoCache, Wish::OnlyIfCached] {
        let at = |temperature| {
            may_use(&CacheCandidate {
                wish: Some(wish),
                temperature,
                ..cold(&request)
            })
        };
        assert_eq!(at(Some(0.7)), Ok(()));
        assert_eq!(at(None), Ok(()));
        assert_eq!(at(Some(0.71)), Err(Never::Warm));
    }
    let profile = |temperature| {
        may_use(&CacheCandidate {
            has_profile: true,
            temperature,
            ..cold(&request)
        })
    };
    assert_eq!(profile(Some(0.7)), Ok(()));
    assert_eq!(
        profile(None),
        Err(Never::NotAsked),
        "the profile sets nothing"
    );
    assert_eq!(profile(Some(1.0)), Err(Never::Warm));
}

#[test]
fn a_long_prompt_is_looked_up_where_that_was_asked_for() {
    let request = request();
    let long = CacheCandidate {
        body_bytes: LONG_BODY_BYTES + 1,
        ..cold(&request)
    };
    assert_eq!(may_use(&long), Err(Never::Long));
    let asked = CacheCandidate {
        wish: Some(Wish::Default),
        ..long
    };
    assert_eq!(may_use(&asked), Ok(()));
}

#[test]
fn content_by_reference_is_looked_up_where_that_was_asked_for() {
    let mut request = request();
    let camera = MediaSource::Url("https://cam.example/latest.jpg".to_owned());
    request.messages[0].parts.push(Part::Image(Image {
        source: camera,
        detail: None,
        cache: None,
    }));
    assert_eq!(may_use(&cold(&request)), Err(Never::ByReference));
    let by_profile = CacheCandidate {
        has_profile: true,
        temperature: Some(0.5),
        ..cold(&request)
    };
    assert_eq!(may_use(&by_profile), Err(Never::ByReference));
    for wish in [Wish::Default, Wish::Semantic, Wish::OnlyIfCached] {
        let asked = CacheCandidate {
            wish: Some(wish),
            ..cold(&request)
        };
        assert_eq!(may_use(&asked), Ok(()));
    }
}

#[test]
fn classes_tasks_and_subsystems_that_must_not_be_kept_are_not() {
    let request = request();
    let none = cold(&request);
    let class = |class, keeps_private| {
        may_use(&CacheCandidate {
            class,
            keeps_private,
            ..none
        })
    };
    assert_eq!(class(SecurityClass::Private, false), Err(Never::Private));
    assert_eq!(class(SecurityClass::Private, true), Ok(()));
    assert_eq!(class(SecurityClass::Tee, true), Err(Never::Private));
    assert_eq!(class(SecurityClass::E2ee, true), Err(Never::Private));
    for task in [TaskClass::Trade, TaskClass::Testament, TaskClass::Incident] {
        let task = Some(task);
        assert_eq!(
            may_use(&CacheCandidate { task, ..none }),
            Err(Never::Critical)
        );
    }
    let task = Some(TaskClass::Heartbeat);
    assert_eq!(may_use(&CacheCandidate { task, ..none }), Ok(()));
    for (name, group, creative, expected) in [
        ("risk", "risk", false, Err(Never::Critical)),
        ("death", "death", false, Err(Never::Critical)),
        ("operator", "operator", false, Err(Never::Critical)),
        ("risk_deep", "risk", false, Err(Never::Critical)),
        ("dream_rem", "dream", true, Err(Never::Creative)),
        ("curator", "curator", false, Ok(())),
    ] {
        let part = subsystem(name, group, creative);
        let subsystem = Some(&part);
        assert_eq!(
            may_use(&CacheCandidate { subsystem, ..none }),
            expected,
            "{name}"
        );
    }
    let critical = CacheCandidate {
        critical: true,
        ..none
    };
    assert_eq!(may_use(&critical), Err(Never::Critical));
    let flagged = CacheCandidate {
        flagged: true,
        ..none
    };
    assert_eq!(may_use(&flagged), Err(Never::Flagged));
    let wish = Some(Wish::NoStore);
    assert_eq!(
        may_use(&CacheCandidate { wish, ..none }),
        Err(Never::NoStore)
    );
}

#[test]
fn requests_that_act_outside_the_model_are_not_kept() {
    let json = |text: &str| RawJson::parse(text).unwrap();
    type Change = Box<dyn Fn(&mut ChatRequest)>;
    let changes: Vec<(Change, Never)> = vec![
        (Box::new(|request| request.n = Some(2)), Never::Several),
        (
            Box::new(|request| request.web_search = Some(true)),
            Never::ServerSide,
        ),
        (
            Box::new(|request| request.model = "m:online".into()),
            Never::ServerSide,
        ),
        (
            Box::new(move |request| {
                request.extra = vec![("previous_response_id".into(), json("\"r\""))];
            }),
            Never::ServerSide,
        ),
        (
            Box::new(move |request| {
                request.tools = vec![Tool::Server {
                    dialect: Dialect::Anthropic,
                    kind: "web_search_20250305".into(),
                    name: None,
                    raw: json("{}"),
                }];
            }),
            Never::ServerSide,
        ),
        (
            Box::new(move |request| request.audio = Some(json("{}"))),
            Never::Spoken,
        ),
        (
            Box::new(move |request| request.modalities = Some(json("[\"audio\"]"))),
            Never::Spoken,
        ),
    ];
    for (change, expected) in changes {
        let mut request = request();
        change(&mut request);
        assert_eq!(may_use(&cold(&request)), Err(expected));
    }
    for silent in ["null", "false"] {
        let mut request = request();
        request.extra = vec![("background".into(), json(silent))];
        assert_eq!(may_use(&cold(&request)), Ok(()), "{silent} is no demand");
    }
    let mut declared = request();
    declared.tools = vec![Tool::Custom {
        name: "f".into(),
        description: None,
        format: None,
    }];
    assert_eq!(
        may_use(&cold(&declared)),
        Ok(()),
        "a tool that may be called excludes nothing"
    );
}

fn text(text: &str) -> StreamEvent {
    StreamEvent::Text {
        choice: 0,
        text: text.to_owned(),
    }
}

fn finish(reason: Finish) -> StreamEvent {
    StreamEvent::Finish {
        choice: 0,
        reason,
        stop_sequence: None,
        details: None,
    }
}

const LONG: &str = "A sentence that is long enough to have ten tokens in it.";

#[track_caller]
fn stores(events: &[StreamEvent], usage: Option<Usage>, expected: Result<(), Never>) {
    let answered = CacheOffer {
        events,
        usage: usage.as_ref(),
        matches_schema: None,
    };
    assert_eq!(may_store(&answered), expected);
}

#[test]
fn only_a_complete_answer_in_words_is_stored() {
    use StreamEvent::Done;
    stores(&[text(LONG), finish(Finish::Stop), Done], None, Ok(()));
    stores(
        &[text(LONG), finish(Finish::StopSequence), Done],
        None,
        Ok(()),
    );
    stores(
        &[text(LONG), finish(Finish::Unknown), Done],
        None,
        Err(Never::Cut),
    );
    for reason in [Finish::Length, Finish::ContextWindow, Finish::Pause] {
        stores(
            &[text(LONG), finish(reason), Done],
            None,
            Err(Never::Unfinished),
        );
    }
    stores(
        &[text(LONG), finish(Finish::Refusal), Done],
        None,
        Err(Never::Refused),
    );
    stores(
        &[text(LONG), finish(Finish::ToolCalls), Done],
        None,
        Err(Never::CallsTool),
    );
    stores(&[text(LONG), Done], None, Err(Never::Unfinished));
    stores(&[text(LONG), finish(Finish::Stop)], None, Err(Never::Cut));
    stores(&[], None, Err(Never::Cut));
    let fault = Fault::new(FaultClass::Server, "overloaded");
    stores(
        &[text(LONG), StreamEvent::Failed(fault)],
        None,
        Err(Never::Cut),
    );
    let refusal = StreamEvent::Refusal {
        choice: 0,
        text: "no".into(),
    };
    stores(
        &[refusal, finish(Finish::Stop), Done],
        None,
        Err(Never::Refused),
    );
    let call = StreamEvent::ToolStart {
        choice: 0,
        call: 0,
        id: "c".into(),
        name: "f".into(),
        custom: false,
        opaque: None,
    };
    stores(
        &[text(LONG), call, finish(Finish::Stop), Done],
        None,
        Err(Never::CallsTool),
    );
    let refusal = "I'm sorry, but I can't help with this request as it is written.";
    stores(
        &[text(refusal), finish(Finish::Stop), Done],
        None,
        Err(Never::Refused),
    );
    let page = CitationSource::Url {
        url: "https://example.com/".into(),
        title: String::new(),
        start: None,
        end: None,
    };
    for (source, expected) in [
        (page, Err(Never::ServerSide)),
        (CitationSource::Other, Ok(())),
    ] {
        let citation = Citation {
            source,
            cited_text: None,
            raw: None,
        };
        let cited = StreamEvent::Citation {
            choice: 0,
            citation,
        };
        stores(
            &[text(LONG), cited, finish(Finish::Stop), Done],
            None,
            expected,
        );
    }
    let twice = [text(LONG), finish(Finish::Stop), finish(Finish::Stop), Done];
    stores(&twice, None, Err(Never::Several));
}

#[test]
fn an_answer_of_fewer_than_ten_tokens_is_not_stored() {
    let usage = |output, reasoning| {
        Some(Usage {
            output,
            reasoning,
            ..Usage::default()
        })
    };
    let events = |words: &str| [text(words), finish(Finish::Stop), StreamEvent::Done];
    stores(&events(LONG), usage(10, None), Ok(()));
    stores(&events(LONG), usage(9, None), Err(Never::Short));
    stores(&events(LONG), usage(100, Some(95)), Err(Never::Short));
    stores(&events("yes"), None, Err(Never::Short));
    stores(&events(""), usage(100, None), Err(Never::Short));
    stores(&events(LONG), usage(0, None), Ok(()));
}

#[test]
fn an_answer_that_breaks_the_schema_is_not_stored() {
    let events = [text(LONG), finish(Finish::Stop), StreamEvent::Done];
    for (matches_schema, expected) in [(Some(false), Err(Never::Invalid)), (Some(true), Ok(()))] {
        let answered = CacheOffer {
            events: &events,
            usage: None,
            matches_schema,
        };
        assert_eq!(may_store(&answered), expected);
    }
}

#[test]
fn every_reason_has_a_name_of_its_own_and_a_sentence() {
    let mut names: Vec<&str> = Never::ALL.map(Never::as_str).into();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Never::ALL.len());
    assert!(Never::ALL.iter().all(|reason| reason.explain().len() > 10));
}

#[test]
fn wishes_are_read_by_their_names() {
    for wish in Wish::ALL {
        assert_eq!(Wish::parse(&wish.as_str().to_uppercase()), Some(wish));
    }
    assert_eq!(Wish::parse("only_if_cached"), Some(Wish::OnlyIfCached));
    assert_eq!(Wish::parse("maybe"), None);
    assert!(Wish::NoCache.stores() && !Wish::NoCache.serves());
    assert!(Wish::NoCache.serves_as_last_resort() && !Wish::NoStore.serves_as_last_resort());
}
