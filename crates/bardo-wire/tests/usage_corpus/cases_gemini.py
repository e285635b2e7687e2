"""Gemini `generateContent`, whole and as `alt=sse`."""

from corpus import case

FLASH = {"input": "0.5", "output": "3", "cache_read": "0.05"}
LIVE = {**FLASH, "audio_input": "1", "audio_output": "12"}
PRO = {"input": "2", "output": "12", "cache_read": "0.2",
       "long_context": {"above": 200000, "input": "4", "output": "18", "cache_read": "0.4"}}


def answer(parts, meta, finish, more=""):
    finish = f',"finishReason":"{finish}"' if finish else ""
    usage = f',"usageMetadata":{meta}' if meta else ""
    return (
        f'{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}}{finish},"index":0{more}}}]{usage},'
        '"modelVersion":"gemini-3-flash","responseId":"r1"}'
    )


def stream(*chunks):
    return "".join(f"data: {chunk}\r\n\r\n" for chunk in chunks)


def text(words):
    return f'{{"text":"{words}"}}'


def both(name, price, usage, first, last, more=""):
    """`first` is counted beside the first words, `last` at the end."""
    case(
        f"gemini/{name}", price, usage,
        answer(text("Hello there."), last, "STOP", more),
        sse=stream(
            answer(text("Hello "), first, ""),
            answer(text("there."), first, ""),
            answer(text(""), last, "STOP", more),
        ),
        counted_on_the_last_words=stream(
            answer(text("Hello "), "", ""), answer(text("there."), last, "STOP", more)
        ),
    )


both("plain", FLASH, {"fresh_input": 8, "output": 3},
     '{"promptTokenCount":8,"candidatesTokenCount":1,"totalTokenCount":9}',
     '{"promptTokenCount":8,"candidatesTokenCount":3,"totalTokenCount":11}')
both("cached", FLASH, {"fresh_input": 400, "cache_read": 600, "output": 10},
     '{"promptTokenCount":1000,"cachedContentTokenCount":600,"totalTokenCount":1000}',
     '{"promptTokenCount":1000,"cachedContentTokenCount":600,"candidatesTokenCount":10,"totalTokenCount":1010}')
both("thoughts", FLASH, {"fresh_input": 20, "output": 100, "reasoning": 90},
     '{"promptTokenCount":20,"thoughtsTokenCount":50,"totalTokenCount":70}',
     '{"promptTokenCount":20,"candidatesTokenCount":10,"thoughtsTokenCount":90,"totalTokenCount":120}')
both("grounded", {**FLASH, "web_search": "0.014"},
     {"fresh_input": 107, "output": 40, "web_searches": 2},
     '{"promptTokenCount":100,"totalTokenCount":100}',
     '{"promptTokenCount":100,"candidatesTokenCount":40,"toolUsePromptTokenCount":7,"totalTokenCount":147}',
     more=',"groundingMetadata":{"webSearchQueries":["eth gas","base gas"]}')
both("audio", LIVE,
     {"fresh_input": 300, "output": 60, "audio_input": 250, "audio_output": 50},
     '{"promptTokenCount":300,"totalTokenCount":300}',
     '{"promptTokenCount":300,"candidatesTokenCount":60,"totalTokenCount":360,'
     '"promptTokensDetails":[{"modality":"TEXT","tokenCount":50},{"modality":"AUDIO","tokenCount":250}],'
     '"candidatesTokensDetails":[{"modality":"AUDIO","tokenCount":50}]}')
both("cached_audio", LIVE,
     {"fresh_input": 110, "cache_read": 200, "output": 6, "audio_input": 60},
     '{"promptTokenCount":310,"cachedContentTokenCount":200,"totalTokenCount":310}',
     '{"promptTokenCount":310,"cachedContentTokenCount":200,"candidatesTokenCount":6,"totalTokenCount":316,'
     '"promptTokensDetails":[{"modality":"AUDIO","tokenCount":250},{"modality":"TEXT","tokenCount":60}],'
     '"cacheTokensDetails":[{"modality":"AUDIO","tokenCount":190},{"modality":"TEXT","tokenCount":10}]}')
both("counts_in_strings", FLASH, {"fresh_input": 8, "output": 3},
     '{"promptTokenCount":"8","totalTokenCount":"8"}',
     '{"promptTokenCount":"8","candidatesTokenCount":"3","totalTokenCount":"11"}')
both("only_the_total_tells_the_output", FLASH, {"fresh_input": 8, "output": 9},
     '{"promptTokenCount":8,"totalTokenCount":8}',
     '{"promptTokenCount":8,"totalTokenCount":17}')
both("long_prompt", PRO, {"fresh_input": 150001, "cache_read": 50000, "output": 100},
     '{"promptTokenCount":200001,"cachedContentTokenCount":50000,"totalTokenCount":200001}',
     '{"promptTokenCount":200001,"cachedContentTokenCount":50000,"candidatesTokenCount":100,"totalTokenCount":200101}')
both("prompt_at_the_threshold", PRO, {"fresh_input": 150000, "cache_read": 50000, "output": 100},
     '{"promptTokenCount":200000,"cachedContentTokenCount":50000,"totalTokenCount":200000}',
     '{"promptTokenCount":200000,"cachedContentTokenCount":50000,"candidatesTokenCount":100,"totalTokenCount":200100}')
both("no_usage", FLASH, None, "", "")
CALL = '{"functionCall":{"name":"get_price","args":{"pair":"ETH/USDC"},"id":"c1"},"thoughtSignature":"c2ln"}'
CALLED = '{"promptTokenCount":73,"candidatesTokenCount":15,"thoughtsTokenCount":41,"totalTokenCount":129}'
case(
    "gemini/tool_call", FLASH, {"fresh_input": 73, "output": 56, "reasoning": 41},
    answer(CALL, CALLED, "STOP"),
    sse=stream(answer(CALL, CALLED, "STOP")),
)
BLOCKED = ('{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":14,"totalTokenCount":14},'
           '"modelVersion":"gemini-3-flash"}')
case("gemini/blocked_prompt", FLASH, {"fresh_input": 14}, BLOCKED, sse=stream(BLOCKED))
case(
    "gemini/two_candidates", FLASH, {"fresh_input": 5, "output": 8},
    '{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"finishReason":"STOP","index":0},'
    '{"content":{"parts":[{"text":"b"}],"role":"model"},"finishReason":"STOP","index":1}],'
    '"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":8,"totalTokenCount":13},"modelVersion":"gemini-3-flash"}',
)
