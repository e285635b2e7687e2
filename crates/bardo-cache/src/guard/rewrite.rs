//! Rewrites a text to common wordings, so that two wordings of one question become the same words.
//!
//! A rewrite is a function in the module of its kind. Its name says what becomes what:
//! [`price::cost_to_price`] makes "what is the price of X" of "how much does X cost". It names the words
//! of its pattern, so a clause that only resembles it stays as it is. What most patterns need, such as the
//! end of a clause or a noun, is in [`pattern`].
//!
//! To add a rewrite, write it beside those of its kind, add its row to [`REWRITES`], and add pairs that it
//! joins and near-misses that it must not join to `tests/it`.

mod agent;
mod attribute;
mod cause;
mod choice;
mod event;
mod location;
mod means;
mod need;
mod pattern;
mod permission;
mod phrase;
mod position;
mod possession;
mod price;
mod purpose;
mod quantity;
mod scope;
mod software;
mod statement;
mod unit;
mod verb;

use super::scan::Token;

pub(super) use phrase::is_particle_verb;

/// Reads the tokens of a text and returns them in a common wording, or as they are.
type Rewrite = fn(Vec<Token>) -> Vec<Token>;

/// All rewrites, in the order in which they are applied.
///
/// Most read other words than their neighbors, and their order does not matter. Where it does, a comment
/// says why.
const REWRITES: &[Rewrite] = &[
    // First the words. The lists have no word with an apostrophe but its parts.
    phrase::contractions_to_words,
    statement::told_for_me_to_told,
    // Before the phrases, which leave "now" out and make "how do I" of "how do you".
    scope::asked_now_to_word,
    scope::you_do_to_mine_to_is_done,
    // A phrase makes "from" of "out of".
    location::out_of_to_remove_from,
    // Before the numbers: "one by one" has none.
    phrase::phrases_to_common,
    statement::announced_to_question,
    unit::written_to_digits,
    unit::version_to_v,
    position::first_language_to_end,
    position::first_clause_to_end,
    phrase::particle_to_verb,
    // Again, for what the four above made: "turn off the light", "more than 5", "what happens if".
    phrase::phrases_to_common,
    phrase::mark_to_article,
    // Then the clauses: words that stand elsewhere, and clauses that are built in another way.
    position::first_question_to_end,
    statement::title_to_how,
    statement::need_function_to_write,
    statement::calculate_to_what,
    position::has_how_many_to_how_many_has,
    choice::rest_before_choice_to_end,
    choice::the_better_one_to_better,
    event::expiry_date_to_expire,
    verb::look_like_to_how_look,
    software::languages_thing_to_thing_in,
    position::last_how_to_front,
    position::first_preposition_to_end,
    agent::last_by_whom_to_front,
    statement::stated_why_to_why,
    statement::wish_possible_to_can,
    permission::lets_me_to_can_i,
    cause::stops_to_why_not,
    event::has_been_done_to_is_done,
    event::gets_done_to_is_done,
    event::who_got_done_to_was_done,
    event::will_cover_to_covers,
    quantity::old_when_to_age_at,
    cause::get_to_do_to_make_do,
    possession::come_in_to_available_in,
    attribute::boil_to_boiling_point,
    need::recommend_to_good,
    permission::is_safe_to_to_it_is_safe,
    permission::doing_is_bad_to_it_is_bad_to_do,
    permission::accepted_as_to_used_as,
    verb::say_in_to_translate_to,
    verb::language_for_to_translate,
    // Commands, options and limits of programs.
    software::option_noun_to_option,
    software::command_that_to_how_with,
    purpose::told_does_to_does_do,
    // Before `does_do_to_purpose`: "what is the function of the flag".
    attribute::role_to_does_do,
    software::option_i_use_to_option_that_does,
    quantity::can_be_to_maximum,
    quantity::maximum_number_to_how_many,
    quantity::can_use_to_limit,
    quantity::size_limit_to_maximum_size,
    price::taxable_to_pay_tax,
    price::costs_less_to_cheaper,
    price::pay_what_to_how_much,
    // How, why, where and with what.
    agent::computes_its_to_is_computed,
    agent::is_calculated_to_calculate,
    event::if_gets_done_to_if_is_done,
    means::compatible_to_works_with,
    cause::what_moved_to_why_moved,
    means::used_to_do_to_do_with,
    means::for_doing_to_that_does,
    software::last_by_default_to_default,
    location::people_speak_to_is_spoken,
    attribute::live_to_lifespan,
    attribute::due_to_due_date,
    attribute::travel_to_speed_of,
    attribute::weigh_to_weight_of,
    attribute::workings_to_how_it_works,
    location::source_to_where_from,
    possession::worlds_longest_to_longest,
    possession::if_i_lack_to_without,
    location::city_is_capital_to_capital,
    quantity::running_pods_to_pods_running,
    software::make_program_do_to_do_in_program,
    position::why_high_usage_to_usage_high,
    location::used_in_to_in,
    attribute::diet_to_eat,
    attribute::return_to_return_value,
    // Statements and wishes.
    statement::statement_to_question,
    // Behind `first_clause_to_end`: "if I want to cancel, what do I do".
    statement::if_i_want_to_how,
    statement::i_want_to_how,
    // Existence and means.
    possession::have_to_there_is,
    // Behind `have_to_there_is`: "does the hotel have free parking".
    possession::free_to_no_charge,
    means::use_to_do_to_do_with,
    // Before `has_to_of`: "what effect does X have on Y".
    cause::effect_to_affect,
    verb::turn_into_to_convert_to,
    // Attributes of a thing.
    price::pair_rate_to_rate_from,
    position::adjective_behind_is_to_front,
    attribute::policy_works_to_policy,
    verb::sets_apart_to_differ,
    verb::versus_how_to_versus,
    software::used_by_default_to_default,
    price::worth_to_price,
    purpose::does_do_to_purpose,
    // Before `for_to_purpose`: "what is TLA short for".
    purpose::mean_to_what_is,
    need::needs_to_required_for,
    possession::has_to_of,
    attribute::use_to_usage,
    possession::come_with_to_of,
    possession::has_most_to_with_most,
    location::be_found_to_where_is,
    possession::what_is_in_to_includes,
    // What is possible, what is out of order, what is done.
    position::exactly_to_nothing,
    permission::allowed_to_can_i,
    // Behind `stops_to_why_not`: "what stops X from starting".
    cause::why_not_to_verb,
    permission::can_be_safely_to_is_safe,
    purpose::define_to_what_is,
    location::where_you_keep_to_where_kept,
    event::did_get_done_to_was_done,
    verb::counts_as_to_is,
    verb::get_stronger_to_become_stronger,
    event::get_renewed_to_renew,
    verb::make_stop_to_stop_from,
    verb::stop_from_to_prevent_from,
    verb::while_doing_to_when_doing,
    quantity::how_many_days_to_how_long,
    permission::configurable_to_can_be,
    agent::you_accept_to_accepted,
    // Prices, purposes and needs.
    price::told_costs_to_does_cost,
    price::cost_to_price,
    attribute::perform_to_performance,
    verb::make_faster_to_speed_up,
    // Before the next: "does it require a card" asks whether a card is required, and that whether I need
    // one.
    agent::does_it_support_to_is_supported,
    need::is_required_to_do_i_need,
    purpose::people_use_for_to_used_for,
    purpose::for_to_purpose,
    agent::done_by_to_who_did,
    possession::included_in_to_includes,
    // Behind the rewrites to a purpose: "what is `x` for".
    software::code_does_to_what_is,
    // Last, words within a clause that is settled.
    position::relative_adjective_to_front,
    verb::perform_noun_to_verb,
    // Phrases of the words that the clauses have now: "who painted X".
    phrase::phrases_to_common,
];

/// The tokens of a text in a common wording.
pub(super) fn rewritten(tokens: Vec<Token>) -> Vec<Token> {
    let apply = |tokens, rewrite: &Rewrite| rewrite(tokens);
    REWRITES.iter().fold(tokens, apply)
}

#[cfg(test)]
mod tests;
