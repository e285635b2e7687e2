//! Words of different meaning that look like forms of one another.

use crate::guard_pairs::{join, separate};

/// Words that are alike but for a final "e", a doubled consonant or a final "s".
const UNLIKE: &[(&str, &str)] = &[
    ("plan", "plane"),
    ("car", "care"),
    ("note", "not"),
    ("tap", "tape"),
    ("fill", "file"),
    ("roll", "role"),
    ("pill", "pile"),
    ("rat", "rate"),
    ("site", "sit"),
    ("mall", "male"),
    ("scrap", "scrape"),
    ("star", "stare"),
    ("bar", "bare"),
    ("win", "wine"),
    ("pin", "pine"),
    ("hop", "hope"),
    ("cap", "cape"),
    ("mat", "mate"),
    ("hat", "hate"),
    ("cut", "cute"),
    ("us", "use"),
    ("at", "ate"),
    ("on", "one"),
    ("to", "toe"),
    ("canva", "canvas"),
    ("new", "news"),
    ("good", "goods"),
    ("custom", "customs"),
    ("mean", "means"),
    ("glass", "glasses"),
    ("arm", "arms"),
    ("poll", "pole"),
    ("tub", "tube"),
    ("cub", "cube"),
    ("kit", "kite"),
    ("cod", "code"),
    ("nod", "node"),
    ("dog", "doge"),
    ("sol", "sole"),
    ("pip", "pipe"),
    ("strip", "stripe"),
    ("rom", "rome"),
    ("dom", "dome"),
    ("lan", "lane"),
    ("past", "paste"),
    ("cast", "caste"),
    ("suit", "suite"),
    ("unit", "unite"),
    ("local", "locale"),
    ("moral", "morale"),
    ("german", "germane"),
    ("franc", "france"),
    ("crud", "crude"),
    ("guid", "guide"),
    ("lung", "lunge"),
    ("bing", "binge"),
    ("sing", "singe"),
    ("stall", "stale"),
    ("tall", "tale"),
    ("ball", "bale"),
    ("till", "tile"),
    ("bill", "bile"),
    ("mill", "mile"),
    ("hall", "hale"),
    ("gall", "gale"),
    ("doll", "dole"),
    ("pal", "pale"),
    ("cloth", "clothes"),
    ("bath", "bathe"),
    ("quit", "quite"),
    ("but", "butt"),
    ("put", "putt"),
    ("pen", "penn"),
    ("bit", "bite"),
    ("fund", "funds"),
    ("ear", "earring"),
    ("book", "booking"),
    ("box", "boxing"),
    ("parent", "parenting"),
    ("economic", "economics"),
];

#[test]
fn a_last_letter_makes_another_word() {
    for (one, other) in UNLIKE {
        for text in ["What is the cost of a florp {}?", "How do I zorvex a {}?"] {
            separate(&[(&text.replace("{}", one), &text.replace("{}", other))]);
        }
    }
}

#[test]
fn a_word_is_no_other_one_without_its_last_letter() {
    separate(&[
        ("Is the note signed?", "Is it not signed?"),
        (
            "Which plan is the cheapest?",
            "Which plane is the cheapest?",
        ),
        (
            "What is the best car for seniors?",
            "What is the best care for seniors?",
        ),
        ("How do I fill a form?", "How do I file a form?"),
        ("How do I use Canva?", "How do I use Canvas?"),
        ("How do I tap a keg?", "How do I tape a keg?"),
        ("What is a tap?", "What is a tape?"),
        ("Where is the mall?", "Where is the male?"),
        ("What is the Doge price?", "What is the dog price?"),
        (
            "Is hotel suite parking free?",
            "Is hotel suit parking free?",
        ),
        ("What is the future of oil?", "What are oil futures?"),
        ("How do I paste a row?", "How do I get past a row?"),
        ("How do I install pip?", "How do I install a pipe?"),
        ("Who is Matt?", "Who is a mate?"),
    ]);
}

#[test]
fn an_inflected_word_is_read_as_the_word_it_comes_from() {
    join(&[
        ("How do I tape a pipe?", "How do I go about taping a pipe?"),
        ("How do I tap a keg?", "How do I go about tapping a keg?"),
        (
            "How do I scrape a site?",
            "How do I go about scraping a site?",
        ),
        ("How do I file a form?", "How do I go about filing a form?"),
        ("How do I fill a form?", "How do I go about filling a form?"),
        (
            "How do I plan a trip?",
            "How do I go about planning a trip?",
        ),
        ("What is the rate?", "What are the rates?"),
        (
            "How do I route traffic?",
            "How do I go about routing traffic?",
        ),
        ("Is a grade final?", "Are grades final?"),
        ("How do I delete cookies?", "How do I delete a cookie?"),
        (
            "How do I cast a spell?",
            "How do I go about casting a spell?",
        ),
    ]);
}

#[test]
fn a_name_of_letters_is_no_pronoun() {
    separate(&[
        ("What is U.S. inflation?", "What is inflation?"),
        ("Is the U.S. economy growing?", "Is the economy growing?"),
        ("Is the u.s. economy growing?", "Is the economy growing?"),
        ("US GDP?", "GDP?"),
        ("What is US-EU trade?", "What is EU trade?"),
        ("What is us inflation?", "What is inflation?"),
        ("is the us economy growing", "is the economy growing"),
        ("WHY IS THE US GDP FALLING", "WHY IS THE GDP FALLING"),
        ("IT SUPPORT", "SUPPORT"),
        ("WHO GUIDELINES?", "guidelines?"),
    ]);
    join(&[
        ("What is U.S. inflation?", "What is US inflation?"),
        ("What is the U.S. GDP?", "What is the GDP of the USA?"),
        ("Why did you charge us?", "Why did you charge me?"),
        ("Is it open at 5 a.m.?", "Is it open at 5 am?"),
    ]);
}

#[test]
fn a_number_ends_where_another_begins() {
    separate(&[
        (
            "Which laptops cost between one thousand and four thousand dollars?",
            "Which laptops cost between two thousand and three thousand dollars?",
        ),
        (
            "Which laptops cost between one hundred and five thousand dollars?",
            "Which laptops cost one hundred and five thousand dollars?",
        ),
        (
            "Which laptops cost from one thousand to four thousand dollars?",
            "Which laptops cost from two thousand to three thousand dollars?",
        ),
        (
            "Add one million and two million",
            "Add one million and three million",
        ),
        ("Add one million and two million", "Add three million"),
        ("What is a 3D tour?", "What is a 3-day tour?"),
        ("What is a 2d game?", "What is a 2 day game?"),
        ("What is 5G?", "What is 5 g?"),
        ("Is 4G enough?", "Is 4 gram enough?"),
        ("Is it warm at - 10 degrees?", "Is it warm at 10 degrees?"),
        ("What is 5 - 3?", "What is 5, 3?"),
    ]);
    join(&[
        (
            "Which laptops cost between one thousand and four thousand dollars?",
            "Which laptops cost between 1,000 and 4,000 dollars?",
        ),
        (
            "Which laptops cost between one hundred and two hundred dollars?",
            "Which laptops cost between 100 and 200 dollars?",
        ),
        ("Sell two hundred thousand shares", "Sell 200,000 shares"),
        (
            "Sell one million two hundred thousand and five shares",
            "Sell 1,200,005 shares",
        ),
        ("Sell one hundred and five shares", "Sell 105 shares"),
        ("What is a 3D printer?", "What is a 3d printer?"),
        ("Keep data for 7d", "Keep data for 7 days"),
        ("Eat 5 g of sugar", "Eat 5g of sugar"),
    ]);
}

#[test]
fn acts_that_only_sound_alike_stay_apart() {
    separate(&[
        (
            "How do I take out a mortgage?",
            "How do I get rid of a mortgage?",
        ),
        ("How do I take out insurance?", "How do I remove insurance?"),
        (
            "How do I make a test in Python?",
            "How do I run a test in Python?",
        ),
        ("How do I make a check?", "How do I run a check?"),
        ("Which plans provide an upgrade?", "Which plans upgrade?"),
        ("Do test strips expire?", "Test strips expire"),
        (
            "What can I do with a law degree?",
            "What should I do with a law degree?",
        ),
        (
            "What can be done with old paint?",
            "What should be done with old paint?",
        ),
        ("How long is a football game?", "How long is a soccer game?"),
        (
            "How much does a suit cost?",
            "How much does a lawsuit cost?",
        ),
        ("How do I reset my tablet?", "How do I reset my pill?"),
        ("Is there a flat fee?", "Is there an apartment fee?"),
        ("What is light made of?", "What is a lamp made of?"),
        ("Why does my tongue hurt?", "Why does my language hurt?"),
    ]);
    join(&[
        ("How do I take out the trash?", "How do I remove the trash?"),
        ("How do I run a test in Python?", "How do I test in Python?"),
        ("How do I make a payment?", "How do I pay?"),
        (
            "What should I do if my card is lost?",
            "What do I do if my card is lost?",
        ),
        (
            "What to do if my card is lost?",
            "What should I do if my card is lost?",
        ),
        ("How do I rent a flat?", "How do I rent an apartment?"),
        ("How do I turn on the light?", "How do I turn on the lamp?"),
    ]);
}

#[test]
fn a_letter_or_a_capital_that_says_something_counts() {
    separate(&[
        ("what is hepatitis a?", "What is hepatitis?"),
        (
            "Is the hepatitis a vaccine safe?",
            "Is the hepatitis vaccine safe?",
        ),
        ("Who was Elizabeth I?", "Who was Elizabeth?"),
        ("How do I send LINK?", "How do I send a link?"),
        ("How do I buy $UNI?", "How do I buy a uni?"),
        ("What is OP?", "What is an op?"),
        ("What is a type I error?", "What is a type error?"),
        ("How long is a phase I trial?", "How long is a phase trial?"),
        ("Wie kann ich sie erreichen?", "Wie kann ich Sie erreichen?"),
        ("Wann ist das essen?", "Wann ist das Essen?"),
    ]);
    join(&[
        ("what is hepatitis a?", "What is hepatitis A?"),
        ("LINK price", "$LINK price"),
        ("Is he taller than I?", "Is he taller than me?"),
        (
            "Wie kann ich die Karte sperren?",
            "wie kann ich die Karte sperren",
        ),
    ]);
}

#[test]
fn a_word_of_one_text_alone_is_no_courtesy() {
    separate(&[
        (
            "Write a thanks note to the customer.",
            "Write a note to the customer.",
        ),
        ("Write a thank-you note to Mark.", "Write a note to Mark."),
        ("What is a security?", "What is security?"),
        ("What is a law?", "What's law?"),
        (
            "Give me a few words that rhyme with cat.",
            "Give me a few words that rhyme with cats.",
        ),
        ("What does \"march\" mean?", "What does \"March\" mean?"),
    ]);
    join(&[
        (
            "Write a thank-you note to Mark.",
            "Write a thank you note to Mark.",
        ),
        (
            "Thanks, how do I reset my password?",
            "How do I reset my password?",
        ),
        ("What is art?", "Define art for me."),
        ("What is working capital?", "Define working capital for me."),
    ]);
}
