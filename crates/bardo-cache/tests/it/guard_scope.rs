//! What a question is restricted to: whose thing it is, who acts, each or all, the time now.

use crate::guard_pairs::{join, separate};

#[test]
fn what_is_done_is_not_how_i_do_it() {
    separate(&[
        ("How are logs rotated?", "How do I rotate logs?"),
        ("How is my data used?", "How do I use my data?"),
        ("How is it made?", "How do I make it?"),
        ("Why was my account closed?", "Why did I close my account?"),
        (
            "When was my order cancelled?",
            "When did I cancel my order?",
        ),
        ("Was my account deleted?", "Did I delete my account?"),
        ("How do you use my data?", "How do I use my data?"),
        (
            "How do you store my card details?",
            "How do I store my card details?",
        ),
    ]);
    join(&[
        ("How can logs be rotated?", "How can I rotate logs?"),
        ("How do you use my data?", "How is my data used?"),
        ("How long are logs kept?", "How long do you keep logs?"),
        ("Can my data be deleted?", "Can I delete my data?"),
    ]);
}

#[test]
fn my_thing_is_not_any_such_thing() {
    separate(&[
        ("What is my credit score?", "What is a credit score?"),
        ("When does my contract end?", "When does a contract end?"),
        ("Is my account locked?", "Is an account locked?"),
        ("Why was my card declined?", "Why was a card declined?"),
    ]);
    join(&[
        ("How do I reset my password?", "How do I reset a password?"),
        ("Can I cancel my order?", "Can I cancel an order?"),
        ("What is my balance?", "What is the balance?"),
    ]);
}

#[test]
fn each_is_all_where_no_amount_is_said() {
    separate(&[
        (
            "What is the limit for each user?",
            "What is the limit for all users?",
        ),
        (
            "What is the fee for every order?",
            "What is the fee for all orders?",
        ),
        (
            "How much memory does each pod use?",
            "How much memory do all pods use?",
        ),
        ("Do all nodes need 4 GB?", "Does every node need 4 GB?"),
        ("Delete the entire column", "Delete every column"),
    ]);
    join(&[
        (
            "Do all users need a licence?",
            "Does every user need a licence?",
        ),
        ("Rename all files", "Rename every file"),
        ("Is the entire table locked?", "Is the whole table locked?"),
        (
            "Show me every wallet with over 5 ETH",
            "List all wallets with over 5 ETH",
        ),
    ]);
}

#[test]
fn a_time_and_an_extent_count() {
    separate(&[
        ("Do I have to pay now?", "Do I have to pay?"),
        ("Can I cancel at the moment?", "Can I cancel?"),
        (
            "Which customers had to pay a fee?",
            "Which customers have to pay a fee?",
        ),
        ("Can I cancel within 24 hours?", "Can I cancel in 24 hours?"),
        (
            "Which users who joined yesterday bought ETH?",
            "Which users who joined bought ETH yesterday?",
        ),
        ("What is the overall latency?", "What is the latency?"),
        ("Do I get paid in a week?", "Do I get paid every week?"),
        ("Can I rent it for a day?", "Can I rent it every day?"),
        ("Can I cancel within a month?", "Can I cancel monthly?"),
        (
            "How many times can I withdraw?",
            "How often can I withdraw?",
        ),
        (
            "Should I keep the box in case it breaks?",
            "Should I keep the box when it breaks?",
        ),
    ]);
    join(&[
        ("What is the price of ETH now?", "What is the price of ETH?"),
        ("Can I rent it for a week?", "Can I rent it for one week?"),
        ("Is it paid once a month?", "Is it paid every month?"),
        (
            "Did gold rise yesterday in Asia?",
            "Did gold rise in Asia yesterday?",
        ),
    ]);
}

#[test]
fn certain_things_are_not_all_of_them() {
    separate(&[
        (
            "Why can specific users not log in?",
            "Why can users not log in?",
        ),
        ("How do I delete certain emails?", "How do I delete emails?"),
        ("Why do particular tests fail?", "Why do tests fail?"),
        (
            "Why is my name not displayed correctly?",
            "Why is my name not displayed?",
        ),
        (
            "How many kinds of penguins are there?",
            "How many penguins are there?",
        ),
        ("What kind of dog bit her?", "Which dog bit her?"),
        ("Can only I see it?", "Can I only see it?"),
        ("Tell me who called", "Tell me who I called"),
        (
            "Does it work for teams as well?",
            "Does it work well for teams?",
        ),
        ("Is there time to sell?", "Is it time to sell?"),
    ]);
    join(&[
        (
            "Does it work for teams as well?",
            "Does it also work for teams?",
        ),
        (
            "How do I delete a specific email?",
            "How do I delete an email?",
        ),
        (
            "What type of wallet do I need?",
            "What kind of wallet do I need?",
        ),
    ]);
}

#[test]
fn who_owns_what_stays_beside_it() {
    separate(&[
        (
            "Do you match prices of other shops?",
            "Do other shops match your prices?",
        ),
        (
            "My neighbour's dog barks at me",
            "My dog barks at my neighbour",
        ),
        (
            "Can I track orders of my friend?",
            "Can my friend track my orders?",
        ),
        (
            "Where is the letter for my landlord?",
            "Where is the letter of my landlord?",
        ),
        (
            "How does Postgres lock rows?",
            "How do I lock rows in Postgres?",
        ),
        (
            "When does Stripe charge cards?",
            "When do I charge cards on Stripe?",
        ),
    ]);
    join(&[
        (
            "How do I reset the router password?",
            "How do I reset the password of the router?",
        ),
        ("What is the price of gold?", "What is the gold price?"),
    ]);
}

#[test]
fn a_letter_of_a_name_does_not_hide_its_preposition() {
    separate(&[
        (
            "Can we fail over to us-west-2?",
            "Can we fail over from us-west-2?",
        ),
        ("Is it copied to S3?", "Is it copied from S3?"),
        ("Is the A100 fast?", "Is the 100 fast?"),
    ]);
    join(&[(
        "Can I fail over to us-west-2?",
        "May I fail over to us-west-2?",
    )]);
}

#[test]
fn company_is_no_means() {
    separate(&[
        (
            "Does the app sync with iCloud?",
            "Does the app sync via iCloud?",
        ),
        (
            "Can I run Postgres alongside MySQL?",
            "Can I run Postgres through MySQL?",
        ),
    ]);
    join(&[
        ("Can I pay with PayPal?", "Can I pay using PayPal?"),
        ("Can I pay via PayPal?", "Can I pay through PayPal?"),
    ]);
}

#[test]
fn spellings_and_frames_of_one_question() {
    join(&[
        (
            "Can my loan be liquidated while the market is closed?",
            "While the market is closed, can my loan be liquidated?",
        ),
        (
            "Is it rude to leave early?",
            "Would it be rude to leave early?",
        ),
        ("Who got paged last night?", "Who was paged last night?"),
        ("How do I set up SSO?", "How do I set up single sign-on?"),
        (
            "When did Greece join the EU?",
            "When did Greece join the European Union?",
        ),
        ("What is new in version 4.2?", "What's new in v4.2?"),
        ("Show errors since 09:00", "Show errors since 9:00"),
        ("Ethereum gas price", "Current Ethereum gas price"),
    ]);
    separate(&[
        (
            "Can my loan be liquidated while the market is closed?",
            "While my loan is liquidated, can the market be closed?",
        ),
        (
            "Is it rude to leave early?",
            "Would it be rude to arrive early?",
        ),
        ("Who got paged last night?", "Who paged last night?"),
        ("Who got married?", "Who was married?"),
        ("What is new in version 4.2?", "What is new in v4.3?"),
        ("Is it version 2 of the file?", "Is it 2 of the file?"),
        ("Show errors since 09:00", "Show errors since 19:00"),
        ("Show errors since 00:10", "Show errors since 10:00"),
        (
            "Is the Ethereum account old?",
            "Is the current Ethereum account old?",
        ),
    ]);
}

#[test]
fn words_that_mean_the_same_beside_some_words_only() {
    separate(&[
        ("Did I get a refund?", "Did I request a refund?"),
        ("Who owns the key?", "Who has the key?"),
        ("How do I pick a lock?", "How do I choose a lock?"),
        (
            "How do I retrieve data from the database?",
            "How do I recover data from the database?",
        ),
        ("Does Google own YouTube?", "Does Google have YouTube?"),
        (
            "Was the increase significant?",
            "Was the increase important?",
        ),
        (
            "Which cookies are essential?",
            "Which cookies are important?",
        ),
        ("How do I get home?", "How do I get a house?"),
        ("Where can I get my refund?", "Where is my refund?"),
        ("How much can I earn?", "How much do I earn?"),
        ("What can I get?", "What do I get?"),
        ("Why should I pay?", "Why do I pay?"),
        ("How long can I stay?", "How long do I stay?"),
        ("How many days can I take?", "How many days do I take?"),
        (
            "Can I roll back to version 2?",
            "Can I roll back version 2?",
        ),
        (
            "How do I search for a document?",
            "How do I search a document?",
        ),
        (
            "What is the status of a failed payment?",
            "What is the status code of a failed payment?",
        ),
        ("Who refused to vote?", "Who failed to vote?"),
        ("How do I change my seat?", "How do I adjust my seat?"),
        ("Who does Apple employ?", "Who does Apple use?"),
        ("How do I enable tracing?", "How do I enable tracking?"),
        (
            "What are the top holdings of the fund?",
            "What are the best holdings of the fund?",
        ),
        ("Why was my call dropped?", "Why was my call declined?"),
        (
            "Can I keep my phone number?",
            "Can I store my phone number?",
        ),
        (
            "Did the company offer me a raise?",
            "Did the company give me a raise?",
        ),
        (
            "What happens when my credits run out?",
            "What happens when my credits expire?",
        ),
        ("Can I edit my application?", "Can I edit my app?"),
        ("Do workers get sick pay?", "Do employees get sick pay?"),
        ("How do I raise money?", "How do I increase money?"),
        ("Are the accounts separate?", "Are the accounts split?"),
        (
            "Do you charge a handling fee?",
            "Do you charge a management fee?",
        ),
        ("Is the building finished?", "Is the build finished?"),
        ("Can I move to Spain?", "Can I transfer to Spain?"),
        ("Do I need a guarantee?", "Do I need a warranty?"),
    ]);
    join(&[
        ("How do I request a refund?", "How do I get a refund?"),
        ("Who owns a dog?", "Who has a dog?"),
        ("How do I pick a plan?", "How do I choose a plan?"),
        (
            "How do I retrieve my password?",
            "How do I recover my password?",
        ),
        ("How do I buy a house?", "How do I buy a home?"),
        ("Did the stock price decline?", "Did the stock price drop?"),
        ("When does my lease run out?", "When does my lease expire?"),
        (
            "Where do you keep the logs?",
            "Where do you store the logs?",
        ),
        ("How do I raise the limit?", "How do I increase the limit?"),
        ("How do I move a file?", "How do I transfer a file?"),
    ]);
}
