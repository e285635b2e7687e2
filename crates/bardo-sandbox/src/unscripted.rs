//! The answer to a request without a script.

use serde_json::json;

use crate::schema;
use crate::script::{self, Call, Choice, Facts, Input, Output, Said, Stop, Tool, Turn};
use crate::world::World;
use crate::{asked, prose, work};

impl Tool {
    /// The smallest input that the tool accepts.
    pub(crate) fn least_input(&self) -> Input {
        if self.custom {
            return Input::Text("sandbox input".to_owned());
        }
        let least = self.schema.as_ref().map(schema::minimal);
        Input::Json(least.filter(|least| least.is_object()).unwrap_or(json!({})))
    }
}

/// Answers by what was asked: what is known in advance, or works with the tools that are there, fills
/// a schema, or talks.
pub(crate) fn turn(facts: &Facts, world: &World) -> Turn {
    let Some(known) = world.answers.find(facts) else {
        return made_up(facts, world);
    };
    let mut turn = match known.fits(facts) {
        true => Turn::plain(known.text),
        false => made_up(facts, world),
    };
    turn.think = None;
    turn.usage.output = Some(known.tokens);
    turn
}

fn made_up(facts: &Facts, world: &World) -> Turn {
    if facts.harness.subject && facts.output == Output::Free && facts.tools.is_empty() {
        return Turn::plain(subject(&facts.said));
    }
    let (at, ask) = asked::last(&facts.said).unwrap_or_default();
    let act = work::act(facts, at, &ask);
    let mut turn = Turn::plain(String::new());
    if facts.thinking {
        turn.think = Some(prose::thought(&ask));
    }
    let calls = called(facts, act.as_ref());
    if !calls.is_empty() {
        let turns = facts.said.iter().filter(|said| **said == Said::Assistant);
        let turns = turns.count();
        let numbered = calls.into_iter().enumerate();
        turn.tools = numbered
            .map(|(place, (name, input))| Call {
                id: script::call_id(facts, world, turns, place),
                name,
                input,
            })
            .collect();
        turn.text = act
            .filter(|act| !act.calls.is_empty() && facts.choice == Choice::Auto)
            .map(|act| act.text);
        turn.stop = Stop::Tools;
        return turn;
    }
    turn.text = Some(match (&facts.output, act, &facts.harness.schema) {
        (Output::Schema(schema), ..)
        | (Output::JsonObject, _, Some(schema))
        | (Output::Free, None, Some(schema)) => schema::minimal(schema).to_string(),
        (Output::JsonObject, _, None) => json!({ "answer": "sandbox" }).to_string(),
        (Output::Free, Some(act), _) => prose::report(facts, &act.text),
        (Output::Free, None, None) => prose::answer(facts, &ask, turn.think_tokens(), world),
    });
    turn
}

/// A line for a commit of the files in the diffs that the conversation shows.
fn subject(said: &[Said]) -> String {
    const LONGEST: usize = 72;
    let texts = said.iter().filter_map(|said| match said {
        Said::User(text) => Some(text.as_str()),
        Said::Assistant => None,
    });
    let named = |line: &str| line.strip_prefix("+++ b/").map(str::to_owned);
    let mut files: Vec<String> = texts.flat_map(str::lines).filter_map(named).collect();
    files.dedup();
    let line = match files.as_slice() {
        [] => "chore: change files".to_owned(),
        [one] => format!("chore: change {one}"),
        [one, others @ ..] => format!("chore: change {one} and {} more", others.len()),
    };
    if line.len() <= LONGEST {
        line
    } else {
        "chore: change files".to_owned()
    }
}

/// The calls of a turn: what the work needs, as far as the request allows it, and some call where
/// the request insists on one.
fn called(facts: &Facts, act: Option<&work::Act>) -> Vec<(String, Input)> {
    let wanted = act.map(|act| act.calls.clone()).unwrap_or_default();
    let least = |tool: &Tool| vec![(tool.name.clone(), tool.least_input())];
    match &facts.choice {
        Choice::None => Vec::new(),
        // What has to have a form is not put off by calls.
        Choice::Auto if facts.output != Output::Free && wanted.is_empty() => Vec::new(),
        Choice::Auto => wanted,
        Choice::Any if !wanted.is_empty() => wanted,
        Choice::Any => facts.tools.first().map(least).unwrap_or_default(),
        Choice::Named(name) => {
            let of_it: Vec<_> = wanted
                .into_iter()
                .filter(|(called, _)| called == name)
                .collect();
            if !of_it.is_empty() {
                return of_it;
            }
            let tool = facts.tools.iter().find(|tool| tool.name == *name);
            tool.map(least).unwrap_or_default()
        }
    }
}
