"""Servers of one's own in OpenAI format: vLLM, llama.cpp, Ollama and others."""

from corpus import case
from cases_chat import BEGIN, DONE, END, WORDS, choice, chunk, whole

PRICE = {"input": "0.2", "output": "0.6"}


def running(prompt, completion):
    return f'{{"prompt_tokens":{prompt},"total_tokens":{prompt + completion},"completion_tokens":{completion}}}'


case("local/vllm_counts_on_every_chunk", PRICE, {"fresh_input": 27, "output": 3},
     whole(running(27, 3)),
     sse=chunk(BEGIN, running(27, 0)) + chunk(WORDS[0], running(27, 1)) + chunk(WORDS[1], running(27, 2))
     + chunk(END, running(27, 3)) + chunk("", running(27, 3)) + DONE)
case("local/vllm_details_only_at_the_end", PRICE, {"fresh_input": 11, "cache_read": 16, "output": 3},
     whole('{"prompt_tokens":27,"total_tokens":30,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":16}}'),
     sse=chunk(BEGIN, running(27, 0)) + chunk(WORDS[0], running(27, 1)) + chunk(END, running(27, 3))
     + chunk("", '{"prompt_tokens":27,"total_tokens":30,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":16}}') + DONE)
case("local/details_are_null", PRICE, {"fresh_input": 27, "output": 3},
     whole('{"prompt_tokens":27,"total_tokens":30,"completion_tokens":3,"prompt_tokens_details":null,"completion_tokens_details":null}'),
     sse=chunk(BEGIN) + chunk(WORDS[0]) + chunk(END)
     + chunk("", '{"prompt_tokens":27,"total_tokens":30,"completion_tokens":3,"prompt_tokens_details":null}') + DONE)
TIMINGS = ',"timings":{"cache_n":20,"prompt_n":5,"prompt_ms":30.9,"prompt_per_token_ms":6.2,"predicted_n":9,"predicted_ms":210.5}'
case("local/llama_cpp_timings_alone", PRICE, {"fresh_input": 5, "cache_read": 20, "output": 9},
     whole("", more=TIMINGS),
     sse="".join(chunk(c, "") for c in (BEGIN, *WORDS)) + chunk(END, "", TIMINGS) + DONE)
case("local/llama_cpp_usage_and_timings", PRICE, {"fresh_input": 25, "output": 9},
     whole(running(25, 9), more=TIMINGS),
     sse="".join(chunk(c, "") for c in (BEGIN, *WORDS, END)) + chunk("", running(25, 9), TIMINGS) + DONE)
case("local/ollama_usage_in_a_chunk_of_its_own", PRICE, {"fresh_input": 26, "output": 298},
     whole(running(26, 298)),
     sse="".join(chunk(c, "") for c in (BEGIN, *WORDS, END)) + chunk("", running(26, 298)) + DONE)
case("local/counted_twice", PRICE, {"fresh_input": 26, "output": 298},
     sse="".join(chunk(c, "") for c in (BEGIN, *WORDS)) + chunk(END, running(26, 298)) + chunk("", running(26, 298)) + DONE)
case("local/prompt_before_content", PRICE, {"fresh_input": 26, "output": 4},
     sse=chunk("", '{"prompt_tokens":26}') + "".join(chunk(c, "") for c in (BEGIN, *WORDS)) + chunk(END, running(26, 4)) + DONE)
case("local/completion_alone_at_the_end", PRICE, {"fresh_input": 26, "output": 4},
     sse=chunk(BEGIN, '{"prompt_tokens":26,"completion_tokens":0}') + chunk(WORDS[0], "") + chunk(END, '{"completion_tokens":4}') + DONE)
case("local/zeros_after_the_count", PRICE, {"fresh_input": 26, "output": 4},
     sse=chunk(BEGIN, "") + chunk(WORDS[0], "") + chunk(END, running(26, 4)) + chunk("", running(0, 0)) + DONE)
case("local/ends_without_done", PRICE, {"fresh_input": 26, "output": 4},
     sse="".join(chunk(c, "") for c in (BEGIN, *WORDS)) + chunk(END, running(26, 4)))
case("local/floats", PRICE, {"fresh_input": 26, "output": 4},
     whole('{"prompt_tokens":26.0,"completion_tokens":4.0,"total_tokens":30.0}'),
     sse=chunk(BEGIN, "") + chunk(WORDS[0], "") + chunk(END, '{"prompt_tokens":26.0,"completion_tokens":4.0,"total_tokens":30.0}') + DONE)
case("local/strings", PRICE, {"fresh_input": 26, "output": 4},
     whole('{"prompt_tokens":"26","completion_tokens":"4","total_tokens":"30"}'),
     sse=chunk(BEGIN, "") + chunk(WORDS[0], "") + chunk(END, '{"prompt_tokens":"26","completion_tokens":"4"}') + DONE)
case("local/lists_for_empty_objects", PRICE, {"fresh_input": 26, "output": 4},
     whole('{"prompt_tokens":26,"completion_tokens":4,"prompt_tokens_details":[],"completion_tokens_details":[]}'),
     sse=chunk(BEGIN, "") + chunk(WORDS[0], "") + chunk(END, '{"prompt_tokens":26,"completion_tokens":4,"prompt_tokens_details":[]}') + DONE)
case("local/reasoning_outside_the_completion", PRICE, {"fresh_input": 7, "output": 100, "reasoning": 90},
     whole('{"prompt_tokens":7,"completion_tokens":10,"total_tokens":107,"completion_tokens_details":{"reasoning_tokens":90}}'),
     sse=chunk(BEGIN, "") + chunk(WORDS[0], "")
     + chunk(END, '{"prompt_tokens":7,"completion_tokens":10,"total_tokens":107,"completion_tokens_details":{"reasoning_tokens":90}}') + DONE)
case("local/reasoning_beside_the_counts", PRICE, {"fresh_input": 7, "output": 100, "reasoning": 90},
     whole('{"prompt_tokens":7,"completion_tokens":100,"total_tokens":107,"reasoning_tokens":90}'),
     sse=chunk(BEGIN, "") + chunk(WORDS[0], "")
     + chunk(END, '{"prompt_tokens":7,"completion_tokens":100,"total_tokens":107,"reasoning_tokens":90}') + DONE)
case("local/only_the_total_tells_the_output", PRICE, {"fresh_input": 7, "output": 13},
     whole('{"prompt_tokens":7,"total_tokens":20}'),
     sse=chunk(BEGIN, "") + chunk(WORDS[0], "") + chunk(END, '{"prompt_tokens":7,"total_tokens":20}') + DONE)
case("local/moonshot_counts_within_the_choice", PRICE, {"fresh_input": 14, "cache_read": 5, "output": 21},
     whole('{"prompt_tokens":19,"completion_tokens":21,"total_tokens":40,"prompt_tokens_details":{"cached_tokens":5}}'),
     sse=chunk(BEGIN, "") + chunk(WORDS[0], "")
     + chunk(choice("{}", "stop", ',"usage":{"prompt_tokens":19,"completion_tokens":21,"total_tokens":40,"prompt_tokens_details":{"cached_tokens":5}}'), "") + DONE)
case("local/free", {"input": "0", "output": "0"}, {"fresh_input": 26, "output": 4},
     whole(running(26, 4)), sse=chunk(BEGIN, "") + chunk(WORDS[0], "") + chunk(END, running(26, 4)) + DONE)
case("local/spaces_and_crlf", PRICE, {"fresh_input": 26, "output": 4},
     '{ "id": "x", "model": "m", "choices": [ { "index": 0, "message": { "role": "assistant", "content": "Hi" }, "finish_reason": "stop" } ],\r\n'
     '  "usage" : { "prompt_tokens": 26, "completion_tokens": 4 } }\r\n',
     sse='data: {"id": "x", "model": "m", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": null}], "usage" : null}\r\n\r\n'
     'data: {"id": "x", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage" : {"prompt_tokens": 26, "completion_tokens": 4}}\r\n\r\n'
     "data: [DONE]\r\n\r\n")
case("local/no_usage", PRICE, None, whole(""), sse="".join(chunk(c, "") for c in (BEGIN, *WORDS, END)) + DONE)
