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
