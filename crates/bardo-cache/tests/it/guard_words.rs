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
