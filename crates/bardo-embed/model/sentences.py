"""Texts to compare with: for the figures, the golden vectors and the tokenizer's tests."""

import itertools

TEMPLATES = [
    "How do I {verb} my {thing}?",
    "Please {verb} the {thing} on {chain} before {day}.",
    "What happens if the {thing} fails while I {verb} it?",
    "{chain}: {verb} {number} {token} at slippage below {number}%.",
    "The {thing} was last updated on {day}, and the {token} price fell by {number} percent since.",
    "Error: could not {verb} {thing}: connection refused (code {number})",
    "Write a Rust function that can {verb} a {thing} without allocation.",
    "Is it safe to {verb} {number} {token} into the {thing} right now?",
]
WORDS = {
    "verb": ["reset", "withdraw", "swap", "deploy", "cancel", "explain", "monitor", "lend", "parse"],
    "thing": ["password", "liquidity pool", "invoice", "vault", "subscription", "smart contract", "kitchen sink"],
    "chain": ["Base", "Ethereum", "Arbitrum", "Solana", "Polygon"],
    "token": ["USDC", "ETH", "wBTC", "DAI"],
    "day": ["Monday", "3 March 2026", "tomorrow", "the end of the quarter"],
    "number": ["1", "10", "1000", "0.5", "25"],
}
PLAIN = [
    "The cat sat on the mat.",
    "A quick brown fox jumps over the lazy dog.",
    "Bonjour, comment ça va aujourd'hui?",
    "Die Maschine läuft seit gestern ohne Unterbrechung.",
    "東京の天気はどうですか。",
    "SELECT id, name FROM users WHERE created_at > now() - interval '1 day';",
    "fn main() { println!(\"{}\", (0..10).map(|x| x * x).sum::<u32>()); }",
    "Send 0.25 ETH to 0x52908400098527886E0F7030069857D2E4169EE7",
    "Summarize the following article in three bullet points.",
    "ok",
    "?",
]


def evaluation():
    """About five hundred sentences, the same on every run."""
    cycles = {key: itertools.cycle(values) for key, values in WORDS.items()}
    made = [
        template.format(**{key: next(values) for key, values in cycles.items()})
        for _ in range(60)
        for template in TEMPLATES
    ]
    long = [" ".join(made[i : i + 8]) for i in range(0, 160, 8)]
    return list(dict.fromkeys(made)) + PLAIN + long


def golden():
    return PLAIN[:8] + [
        "How do I reset my password?",
        "I forgot my password, how can I change it?",
        " ".join(PLAIN * 4),
    ]


def pairs():
    return [
        ("How do I reset my password?", "I forgot my password, how can I change it?"),
        ("How do I reset my password?", "What is the capital of France?"),
        ("Supply 1000 USDC to Aave", "Supply 10000 USDC to Aave"),
        ("It is safe to withdraw", "It is unsafe to withdraw"),
        ("A man is playing a guitar.", "Someone plays an instrument."),
        ("A man is playing a guitar.", "The stock market fell today."),
    ]


def hard():
    """Strings on which tokenizers differ."""
    return [
        "",
        " ",
        "\t\n\r ",
        "hello",
        "Hello, World!",
        "unaffable",
        "don't can't won't",
        "Café naïve résumé Ångström",
        "cafe\u0301 e\u0301\u0302 n\u0303",
        "İstanbul ISTANBUL ıstanbul ß ẞ ﬁ ﬀ",
        "ΑΣΟΦΟΣ ΟΔΥΣΣΕΥΣ Σ",
        "東京タワー is in 日本",
        "中文字符\u3400\U00020000\uf900",
        "한국어 텍스트",
        "हिन्दी में पाठ",
        "ไทย ภาษา",
        "العَرَبِيَّة مرحبا",
        "עִבְרִית",
        "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 flag \U0001f1eb\U0001f1f7",
        "a\u0000b\ufffdc\u0007d\u007fe",
        "soft\u00adhyphen zero\u200bwidth \ufeffbom \u2028line",
        "nb\u00a0space em\u2003space ideographic\u3000space",
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0xde0B295669a9FD93d5F28D9Ec85E40f4cb697BAe swaps 1,000.50 USDC",
        "let x: Vec<u8> = vec![1, 2, 3]; // <= >= != && || ?.",
        "SELECT * FROM t WHERE a='b' AND c<>1;",
        "https://example.com/path?q=1&r=%20#frag",
        "user@example.com +1 (555) 010-9999",
        "{\"key\": [1, 2.5, null], \"k2\": \"v\\n\"}",
        "snake_case camelCase kebab-case SCREAMING",
        "a" * 99,
        "a" * 100,
        "a" * 101,
        "é" * 100,
        "e\u0301" * 100,
        "x" * 300 + " tail",
        "[CLS] [SEP] [PAD] [UNK] [MASK] [cls]",
        "[CLS][SEP]x[MASK]y",
        "before[MASK]after [ MASK ]",
        "1234567890 12345678901234567890 3.14159 1e10 -5 +7",
        "$100 €50 £20 ¥1000 ₿0.1 50% №5 ™ © ® ° ½ ² ∑ √ ≠ ≤ → ←",
        "“quotes” ‘single’ «guillemets» – — … ‹›",
        "¿Qué? ¡Sí! ¶ § † ‡ • ‰",
        "ﷺ ㎏ ㍿ ① Ⅷ",
        "Ｆｕｌｌｗｉｄｔｈ １２３",
        "Zalgo t\u0336\u0317e\u0334x\u0335t",
        "tab\tseparated\tvalues\nnew\r\nline",
        "\u0130\u0131 \u01c5 \u1e9e \ufb03 \u0345",
        "\U000e0001\U000e0041 tags \ue000 private \U0010fffd",
        "\u0085 next line \u001c sep \u000b vt \u000c ff",
        "word " * 400,
        "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
        "\u061c\u200e\u200f\u202a marks \u2066 isolates \u2069",
        "\u180e mongolian \u0600 arabic sign \u06dd \u070f \ud7fb",
        "ᾳ ΰ ǰ ŉ ẖ ᾼ",
        "q\u0307\u0323 \u1e0b\u0323 \uac00\u11a8",
    ]
