use bardo_types::model::Capabilities;

use super::*;

fn read_requests() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/chat/requests");
    let mut all: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    all.sort();
    assert!(all.len() >= 4, "the fixtures are gone");
    all
}

/// What goes in comes out again with the same meaning at the service whose words were used.
#[test]
fn requests_keep_their_meaning() {
    for (name, body) in read_requests() {
        let request = decode_request(&body).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (service, model) = service_of(&name.replace('_', "/"));
        let target = Target {
            capabilities: Arc::new(Capabilities {
                efforts: vec![
                    bardo_types::model::Effort::Low,
                    bardo_types::model::Effort::High,
                ],
                cache_marks: true,
                ..Capabilities::default()
            }),
            ..target(service, model)
        };
        let encoded = encode_request(&request, &target).unwrap();
        assert_eq!(encoded.degraded, [], "{name}");
        let mut again = decode_request(&encoded.body).unwrap();
        assert_eq!(again.model, model);
        again.model.clone_from(&request.model);
        again.include_usage = request.include_usage;
        again
            .extra
            .retain(|(member, _)| member != "venice_parameters");
        let mut request = request;
        request
            .extra
            .retain(|(member, _)| member != "venice_parameters");
        assert_eq!(again, request, "{name}");
        insta::assert_json_snapshot!(
            name,
            serde_json::from_slice::<serde_json::Value>(&encoded.body).unwrap()
        );
    }
}

mod conversations {
    use bardo_types::chat::{Message, Part, Role, Text, ToolCall, ToolResult};
    use proptest::prelude::*;

    use super::*;

    /// One exchange: words of the user, and an answer that may call tools, which answer.
    fn exchange(number: usize) -> impl Strategy<Value = Vec<Message>> {
        let words = "[a-zé🌍\"\\\\\n]{1,12}";
        let calls = prop::collection::vec(("[a-z_]{1,8}", "[a-z\"\n]{0,8}", words), 0..3);
        (words, proptest::option::of(words), calls).prop_map(move |(asked, said, calls)| {
            let text = |words: String| Part::Text(Text::new(words));
            let mut turn: Vec<Part> = said.map(text).into_iter().collect();
            let mut results = Vec::new();
            for (place, (name, argument, outcome)) in calls.into_iter().enumerate() {
                let id = format!("call_{number}_{place}");
                let arguments = serde_json::json!({ "x": argument }).to_string();
                turn.push(Part::ToolCall(ToolCall::new(id.as_str(), name, arguments)));
                results.push(Part::ToolResult(ToolResult {
                    call_id: id,
                    parts: vec![text(outcome)],
                    is_error: false,
                    custom: false,
                    cache: None,
                }));
            }
            let mut all = vec![Message::new(Role::User, vec![text(asked)])];
            if !turn.is_empty() {
                all.push(Message::new(Role::Assistant, turn));
            }
            if !results.is_empty() {
                all.push(Message::new(Role::User, results));
            }
            all
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn come_out_as_they_went_in(
            first in exchange(0),
            second in exchange(1),
            service in proptest::sample::select(vec![Service::OpenAi, Service::OpenRouter, Service::Venice, Service::Local, Service::Bankr]),
        ) {
            let mut request = ChatRequest::new(Dialect::Chat, "m");
            request.messages.extend(first);
            request.messages.extend(second);
            let encoded = encode_request(&request, &target(service, "m")).unwrap();
            prop_assert_eq!(encoded.degraded, []);
            let again = decode_request(&encoded.body).unwrap();
            prop_assert_eq!(again.messages, request.messages);
        }
    }
}
