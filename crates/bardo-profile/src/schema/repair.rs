use bardo_types::chat::{ChatRequest, Message, Part, Role, Text};

/// As many faults as fit into a short turn.
const MOST_FAULTS: usize = 8;

/// Repeats a request after an answer that does not match its schema: adds the answer as a turn of
/// the model, and a turn that names the faults. Nothing before them changes, so signatures and
/// caches of that part stay valid.
#[must_use]
pub fn repair_request(request: &ChatRequest, answer: &str, faults: &[String]) -> ChatRequest {
    let mut again = request.clone();
    let answer = match answer.trim() {
        "" => "(no answer)",
        answer => answer,
    };
    let mut told = "Your last answer does not match the schema:".to_owned();
    for fault in faults.iter().take(MOST_FAULTS) {
        told.push_str("\n- ");
        told.push_str(fault);
    }
    told.push_str("\nGive the whole answer again as valid JSON, and nothing else.");
    let turn = |role, text: &str| Message::new(role, vec![Part::Text(Text::new(text))]);
    again.messages.push(turn(Role::Assistant, answer));
    again.messages.push(turn(Role::User, &told));
    again
}

#[cfg(test)]
mod tests {
    use bardo_types::model::Dialect;

    use super::*;

    #[test]
    fn a_repair_only_appends() {
        let mut request = ChatRequest::new(Dialect::Chat, "m");
        request
            .messages
            .push(Message::new(Role::User, vec![Text::new("Decide.").into()]));
        let faults: Vec<String> = (0..20).map(|at| format!("/{at} is missing")).collect();
        let again = repair_request(&request, " {} ", &faults);
        assert_eq!(again.messages[..1], request.messages[..]);
        assert_eq!(again.messages[1].role, Role::Assistant);
        assert_eq!(again.messages[1].text(), "{}");
        let told = again.messages[2].text();
        assert!(
            told.contains("/7 is missing") && !told.contains("/8 is missing"),
            "{told}"
        );
        let blank = repair_request(&request, "\n", &[]);
        assert_eq!(blank.messages[1].text(), "(no answer)");
    }
}
