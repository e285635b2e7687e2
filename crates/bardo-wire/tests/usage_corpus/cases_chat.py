"""OpenAI Chat Completions, and the services that speak it in their own ways."""

from corpus import case

GPT = {"input": "2.5", "output": "15", "cache_read": "0.25"}
AUDIO = {"input": "2.5", "output": "10", "audio_input": "40", "audio_output": "80"}


def whole(usage, message='{"role":"assistant","content":"Hello there.","refusal":null}', finish="stop", more="", model="gpt-5.5"):
    tail = f',"usage":{usage}' if usage else ""
    return (
        f'{{"id":"chatcmpl-1","object":"chat.completion","created":1763600000,"model":"{model}","choices":[{{"index":0,'
        f'"message":{message},"logprobs":null,"finish_reason":"{finish}"}}]{tail}{more}}}'
    )


def chunk(choices, usage="null", more="", model="gpt-5.5"):
    tail = f',"usage":{usage}' if usage else ""
    return (
        f'data: {{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763600000,"model":"{model}",'
        f'"choices":[{choices}]{tail}{more}}}\n\n'
    )


def choice(delta, finish="null", more=""):
    finish = finish if finish == "null" else f'"{finish}"'
    return f'{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}{more}}}'


BEGIN = choice('{"role":"assistant","content":"","refusal":null}')
WORDS = (choice('{"content":"Hello "}'), choice('{"content":"there."}'))
END = choice("{}", "stop")
DONE = "data: [DONE]\n\n"


def late(usage, more=""):
    """As OpenAI does it: a chunk of its own without choices, after the finish reason."""
    text = "".join(chunk(c) for c in (BEGIN, *WORDS, END))
    return text + chunk("", usage, more) + DONE


def with_finish(usage, more=""):
    """On the chunk with the finish reason, and members absent before."""
    text = "".join(chunk(c, "") for c in (BEGIN, *WORDS))
    return text + chunk(END, usage, more) + DONE


def with_empty_delta(usage, more=""):
    """After the finish reason, on a chunk with a choice that says nothing."""
    text = "".join(chunk(c, "") for c in (BEGIN, *WORDS, END))
    return text + chunk(choice('{"role":"assistant","content":""}'), usage, more) + DONE


def with_words(usage, more=""):
    """On the chunk with the last words."""
    text = chunk(BEGIN, "") + chunk(WORDS[0], "") + chunk(choice('{"content":"there."}', "stop"), usage, more)
    return text + DONE


def both(name, price, usage, told, make=late, more=""):
    case(name, price, usage, whole(told, more=more), sse=make(told, more))


DETAILS = ('"prompt_tokens_details":{{"cached_tokens":{cached},"cache_write_tokens":{written},"audio_tokens":0,"image_tokens":0,'
           '"text_tokens":100}},"completion_tokens_details":{{"reasoning_tokens":{reasoning},"accepted_prediction_tokens":0,'
           '"rejected_prediction_tokens":0,"audio_tokens":0,"text_tokens":15}}')
NONE = {"audio_input": 0, "audio_output": 0, "accepted_prediction": 0, "rejected_prediction": 0}


def openai(prompt, completion, cached=0, written=0, reasoning=0):
    details = DETAILS.format(cached=cached, written=written, reasoning=reasoning)
    return (f'{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{prompt + completion},{details}}}')


# --- OpenAI

PLAIN = {"fresh_input": 19, "output": 10, "reasoning": 0, **NONE}
case("openai/plain", GPT, PLAIN, whole(openai(19, 10)), sse=late(openai(19, 10)),
     on_the_finish_chunk=with_finish(openai(19, 10)),
     on_a_chunk_with_an_empty_choice=with_empty_delta(openai(19, 10)),
     on_the_last_words=with_words(openai(19, 10)))
both("openai/only_the_three_totals", GPT, {"fresh_input": 19, "output": 10},
     '{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}')
both("openai/cached", GPT, {"fresh_input": 36, "cache_read": 64, "output": 20, "reasoning": 5, **NONE},
     openai(100, 20, cached=64, reasoning=5))
both("openai/whole_prompt_cached", GPT, {"cache_read": 1024, "output": 2, "reasoning": 0, **NONE},
     openai(1024, 2, cached=1024))
both("openai/cache_write", {**GPT, "cache_write_5m": "3.125"},
     {"fresh_input": 200, "cache_read": 3712, "cache_write_5m": 24, "output": 20, "reasoning": 0, **NONE},
     openai(3936, 20, cached=3712, written=24))
both("openai/reasoning", GPT, {"fresh_input": 75, "output": 1186, "reasoning": 1024, **NONE},
     openai(75, 1186, reasoning=1024))
both("openai/reasoning_has_its_own_price", {**GPT, "reasoning": "4"},
     {"fresh_input": 75, "output": 1186, "reasoning": 1024, **NONE}, openai(75, 1186, reasoning=1024))
both("openai/audio_both_ways", AUDIO,
     {"fresh_input": 59, "output": 76, "reasoning": 0, "audio_input": 40, "audio_output": 59},
     '{"prompt_tokens":59,"completion_tokens":76,"total_tokens":135,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":40},'
     '"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":59}}')
both("openai/audio_without_its_own_price", GPT,
     {"fresh_input": 59, "output": 76, "audio_input": 40, "audio_output": 59},
     '{"prompt_tokens":59,"completion_tokens":76,"prompt_tokens_details":{"audio_tokens":40},"completion_tokens_details":{"audio_tokens":59}}')
both("openai/predicted_output", GPT,
     {"fresh_input": 202, "output": 170, "reasoning": 0, "audio_output": 0, "accepted_prediction": 60, "rejected_prediction": 23},
     '{"prompt_tokens":202,"completion_tokens":170,"total_tokens":372,"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,'
     '"accepted_prediction_tokens":60,"rejected_prediction_tokens":23}}')
case("openai/tool_call", GPT, {"fresh_input": 82, "output": 17, "reasoning": 0, **NONE},
     whole(openai(82, 17),
           '{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_price",'
           '"arguments":"{\\"pair\\":\\"ETH/USDC\\"}"}}]}', "tool_calls"),
     sse=chunk(choice('{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_price","arguments":""}}]}'))
     + chunk(choice('{"tool_calls":[{"index":0,"function":{"arguments":"{\\"pair\\":"}}]}'))
     + chunk(choice('{"tool_calls":[{"index":0,"function":{"arguments":"\\"ETH/USDC\\"}"}}]}'))
     + chunk(choice("{}", "tool_calls")) + chunk("", openai(82, 17)) + DONE)
case("openai/two_choices", GPT, {"fresh_input": 9, "output": 6, "reasoning": 0, **NONE},
     sse=chunk('{"index":0,"delta":{"role":"assistant","content":"a"},"finish_reason":null}')
     + chunk('{"index":1,"delta":{"role":"assistant","content":"b"},"finish_reason":null}')
     + chunk('{"index":0,"delta":{},"finish_reason":"stop"}') + chunk('{"index":1,"delta":{},"finish_reason":"stop"}')
     + chunk("", openai(9, 6)) + DONE)
both("openai/cut_by_length", GPT, {"fresh_input": 5, "output": 1, "reasoning": 0, **NONE}, openai(5, 1))
case("openai/no_usage", GPT, None, whole(""), sse="".join(chunk(c, "") for c in (BEGIN, *WORDS, END)) + DONE)
case("openai/null_usage", GPT, None, whole("null"), sse="".join(chunk(c) for c in (BEGIN, *WORDS, END)) + DONE)

# --- OpenRouter

CLAUDE = {"input": "4", "output": "20", "cache_read": "0.2", "cache_write_5m": "5", "cache_write_1h": "8", "web_search": "0.01"}
COST = ('"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":0.00042,'
        '"upstream_inference_completions_cost":0.00326}')
OPENROUTER = ('{"prompt_tokens":2014,"completion_tokens":163,"total_tokens":2177,"prompt_tokens_details":{"cached_tokens":1800,'
              '"cache_write_tokens":200,"audio_tokens":0,"video_tokens":0},"completion_tokens_details":{"reasoning_tokens":103},'
              '"cost":0.004676,"is_byok":false,' + COST + "}")
both("openrouter/cached_and_written", CLAUDE,
     {"fresh_input": 14, "cache_read": 1800, "cache_write_5m": 200, "output": 163, "reasoning": 103, "audio_input": 0,
      "provider_cost_usd": "0.004676"}, OPENROUTER, with_empty_delta)
case("openrouter/with_comments_between", CLAUDE,
     {"fresh_input": 30, "output": 12, "provider_cost_usd": "3.6e-4"},
     whole('{"prompt_tokens":30,"completion_tokens":12,"total_tokens":42,"cost":3.6e-4}'),
     sse=": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n"
     + with_empty_delta('{"prompt_tokens":30,"completion_tokens":12,"total_tokens":42,"cost":3.6e-4}'))
both("openrouter/own_key_behind_it", CLAUDE,
     {"fresh_input": 30, "output": 12, "provider_cost_usd": "0.000018", "byok_fee": 18},
     '{"prompt_tokens":30,"completion_tokens":12,"total_tokens":42,"cost":0.000018,"is_byok":true,"cost_details":{"upstream_inference_cost":0.00036}}',
     with_empty_delta)
both("openrouter/searches", CLAUDE,
     {"fresh_input": 1530, "output": 212, "web_searches": 2, "provider_cost_usd": "0.03036"},
     '{"prompt_tokens":1530,"completion_tokens":212,"total_tokens":1742,"cost":0.03036,"server_tool_use_details":{"web_search_requests":2}}',
     with_finish)
both("openrouter/searches_by_the_older_name", CLAUDE,
     {"fresh_input": 1530, "output": 212, "web_searches": 1},
     '{"prompt_tokens":1530,"completion_tokens":212,"total_tokens":1742,"server_tool_use":{"web_search_requests":1}}')
both("openrouter/fee_per_request", {"input": "1", "output": "1", "request": "0.005"},
     {"fresh_input": 3, "output": 4, "provider_cost_usd": "0.005007"},
     '{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"cost":0.005007}', with_words)
both("openrouter/free_model", {"input": "0", "output": "0"},
     {"fresh_input": 300, "output": 400, "provider_cost_usd": "0"},
     '{"prompt_tokens":300,"completion_tokens":400,"total_tokens":700,"cost":0}', with_empty_delta)
both("openrouter/writes_for_an_hour", CLAUDE,
     {"fresh_input": 20, "cache_write_5m": 80, "cache_write_1h": 200, "output": 5},
     '{"prompt_tokens":300,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":280},'
     '"cache_creation":{"ephemeral_5m_input_tokens":80,"ephemeral_1h_input_tokens":200}}')
both("openrouter/long_prompt",
     {**CLAUDE, "long_context": {"above": 200000, "input": "8", "output": "20", "cache_read": "0.2", "cache_write_5m": "5", "cache_write_1h": "8"}},
     {"fresh_input": 200001, "output": 1}, '{"prompt_tokens":200001,"completion_tokens":1,"total_tokens":200002}')

# --- Venice

GLM = {"input": "1.54", "output": "4.84", "cache_read": "0.286", "cache_write_5m": "1.54"}
VENICE = ('{{"prompt_tokens":5500,"completion_tokens":200,"total_tokens":5700,"prompt_tokens_details":{{"cached_tokens":5000,'
          '"cache_creation_input_tokens":{written}}},"completion_tokens_details":{{"reasoning_tokens":169}}}}')
USD = ',"cost":{"usd":0.006,"diem":0},"venice_parameters":{"enable_web_search":"off","web_search_citations":[],"enable_e2ee":true}'
both("venice/cached", GLM,
     {"fresh_input": 500, "cache_read": 5000, "output": 200, "reasoning": 169, "provider_cost_usd": "0.006"},
     VENICE.format(written=0), late, USD)
both("venice/cache_written", {**GLM, "cache_write_5m": "1.925"},
     {"fresh_input": 100, "cache_read": 5000, "cache_write_5m": 400, "output": 200, "reasoning": 169, "provider_cost_usd": "0.006"},
     VENICE.format(written=400), late, USD)
both("venice/paid_in_diem", GLM,
     {"fresh_input": 7, "output": 9, "provider_cost_usd": "0.00005434"},
     '{"prompt_tokens":7,"completion_tokens":9,"total_tokens":16}', with_finish, ',"cost":{"usd":0.0,"diem":0.00005434}')
both("venice/long_context",
     {**GLM, "long_context": {"above": 128000, "input": "3.08", "output": "9.68", "cache_read": "0.572", "cache_write_5m": "3.08"}},
     {"fresh_input": 8001, "cache_read": 120000, "output": 10},
     '{"prompt_tokens":128001,"completion_tokens":10,"total_tokens":128011,"prompt_tokens_details":{"cached_tokens":120000}}')
case("venice/empty_choices_midway", GLM, {"fresh_input": 7, "output": 9},
     sse=chunk("", "") + chunk(BEGIN, "") + chunk("", "null") + chunk(WORDS[0], "") + chunk("", "null") + chunk(END, "")
     + chunk("", '{"prompt_tokens":7,"completion_tokens":9,"total_tokens":16}') + DONE)

# --- BlockRun

SONNET = {"input": "2", "output": "10", "cache_read": "0.2", "cache_write_5m": "2.5"}
both("blockrun/each_count_said_twice", SONNET,
     {"fresh_input": 10, "cache_read": 1000, "cache_write_5m": 100, "output": 5, "reasoning": 2},
     '{"prompt_tokens":1110,"completion_tokens":5,"total_tokens":1115,"prompt_tokens_details":{"cached_tokens":1000,"cached_creation_tokens":100},'
     '"cache_read_input_tokens":1000,"cache_creation_input_tokens":100,"completion_tokens_details":{"reasoning_tokens":2}}')
both("blockrun/flat_price", {"input": "0", "output": "0", "request": "0.002"}, {"fresh_input": 4000, "output": 900},
     '{"prompt_tokens":4000,"completion_tokens":900,"total_tokens":4900}')
both("blockrun/long_context",
     {"input": "2.5", "output": "15", "cache_read": "0.25", "cache_write_5m": "2.5",
      "long_context": {"above": 272000, "input": "5", "output": "22.5", "cache_read": "0.5", "cache_write_5m": "5"}},
     {"fresh_input": 1, "cache_read": 272000, "output": 3},
     '{"prompt_tokens":272001,"completion_tokens":3,"total_tokens":272004,"prompt_tokens_details":{"cached_tokens":272000}}')
both("blockrun/free_model", {"input": "0", "output": "0"}, {"fresh_input": 40, "output": 90},
     '{"prompt_tokens":40,"completion_tokens":90,"total_tokens":130}')

# --- Bankr

both("bankr/plain", {"input": "3.0", "output": "15.0", "cache_read": "0.3", "cache_write_5m": "3.75"},
     {"fresh_input": 44, "cache_read": 56, "output": 33},
     '{"prompt_tokens":100,"completion_tokens":33,"total_tokens":133,"prompt_tokens_details":{"cached_tokens":56}}', with_finish)
both("bankr/cached_counted_apart", {"input": "3.0", "output": "15.0", "cache_read": "0.3", "cache_write_5m": "3.75"},
     {"fresh_input": 44, "cache_read": 5600, "cache_write_5m": 10, "output": 33},
     '{"prompt_tokens":44,"completion_tokens":33,"cache_read_input_tokens":5600,"cache_creation_input_tokens":10}')

# --- DeepSeek

DEEPSEEK = {"input": "0.14", "output": "0.28", "cache_read": "0.014"}
HITS = ('{"prompt_tokens":100,"completion_tokens":9,"total_tokens":109,"prompt_tokens_details":{"cached_tokens":64},'
        '"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}')
both("deepseek/hits_and_misses", DEEPSEEK, {"fresh_input": 36, "cache_read": 64, "output": 9}, HITS, with_finish)
both("deepseek/only_hits_and_misses", DEEPSEEK, {"fresh_input": 36, "cache_read": 64, "output": 9},
     '{"completion_tokens":9,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}', with_finish)
both("deepseek/reasoning", DEEPSEEK, {"fresh_input": 11, "output": 505, "reasoning": 480},
     '{"prompt_tokens":11,"completion_tokens":505,"total_tokens":516,"completion_tokens_details":{"reasoning_tokens":480},'
     '"prompt_cache_hit_tokens":0,"prompt_cache_miss_tokens":11}', with_finish)
case("deepseek/kept_alive", DEEPSEEK, {"fresh_input": 36, "cache_read": 64, "output": 9},
     "\n\n\n" + whole(HITS), sse=": keep-alive\n\n: keep-alive\n\n" + with_finish(HITS))
