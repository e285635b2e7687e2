"""Anthropic Messages, also as resellers pass it through."""

from corpus import case

OPUS = {"input": "4", "output": "20", "cache_read": "0.2", "cache_write_5m": "5",
        "cache_write_1h": "8", "web_search": "0.01"}
SONNET = {"input": "3", "output": "15", "cache_read": "0.3", "cache_write_5m": "3.75",
          "cache_write_1h": "6"}
BARE = {"input": "3", "output": "15"}


def whole(usage, content='[{"type":"text","text":"Hello there."}]', stop="end_turn"):
    tail = f',"usage":{usage}' if usage else ""
    return (
        '{"id":"msg_01Xk","type":"message","role":"assistant","model":"claude-opus-5-5","content":'
        f'{content},"stop_reason":"{stop}","stop_sequence":null{tail}}}'
    )


def event(name, data):
    return f"event: {name}\ndata: {data}\n\n"


TEXT = (
    event("content_block_start", '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}')
    + event("ping", '{"type":"ping"}')
    + event("content_block_delta", '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello "}}')
    + event("content_block_delta", '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"there."}}')
    + event("content_block_stop", '{"type":"content_block_stop","index":0}')
)
CALL = (
    event("content_block_start", '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_price","input":{}}}')
    + event("content_block_delta", '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}')
    + event("content_block_delta", '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"pair\\":\\"ETH/USDC\\"}"}}')
    + event("content_block_stop", '{"type":"content_block_stop","index":0}')
)


def stream(start, *deltas, blocks=TEXT, stop="end_turn"):
    usage = f',"usage":{start}' if start else ""
    text = event(
        "message_start",
        '{"type":"message_start","message":{"id":"msg_01Xk","type":"message","role":"assistant","model":"claude-opus-5-5",'
        f'"content":[],"stop_reason":null,"stop_sequence":null{usage}}}}}',
    )
    text += blocks
    for at, delta in enumerate(deltas):
        reason = f'"{stop}"' if at == len(deltas) - 1 else "null"
        usage = f',"usage":{delta}' if delta else ""
        text += event(
            "message_delta",
            f'{{"type":"message_delta","delta":{{"stop_reason":{reason},"stop_sequence":null}}{usage}}}',
        )
    return text + event("message_stop", '{"type":"message_stop"}')


ZERO_SPLIT = '"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0}'

case(
    "anthropic/plain", OPUS, {"fresh_input": 12, "output": 30},
    whole('{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,' + ZERO_SPLIT
          + ',"output_tokens":30,"service_tier":"standard","inference_geo":"us","speed":"standard"}'),
    sse=stream('{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,'
               + ZERO_SPLIT + ',"output_tokens":1,"service_tier":"standard"}', '{"output_tokens":30}'),
    repeated=stream('{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":4}',
                    '{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":30}'),
)
case(
    "anthropic/two_counts_of_a_long_answer", OPUS, {"fresh_input": 12, "output": 512},
    whole('{"input_tokens":12,"output_tokens":512}'),
    sse=stream('{"input_tokens":12,"output_tokens":1}', '{"output_tokens":256}', '{"output_tokens":512}'),
)
case(
    "anthropic/cache_read", OPUS, {"fresh_input": 12, "cache_read": 4096, "output": 30},
    whole('{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":4096,"output_tokens":30}'),
    sse=stream('{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":4096,"output_tokens":1}',
               '{"output_tokens":30}'),
)
case(
    "anthropic/cache_write_without_durations", OPUS,
    {"fresh_input": 3, "cache_write_5m": 2048, "output": 30},
    whole('{"input_tokens":3,"cache_creation_input_tokens":2048,"cache_read_input_tokens":0,"output_tokens":30}'),
    sse=stream('{"input_tokens":3,"cache_creation_input_tokens":2048,"cache_read_input_tokens":0,"output_tokens":1}',
               '{"output_tokens":30}'),
)
case(
    "anthropic/cache_write_1h", OPUS,
    {"fresh_input": 3, "cache_write_1h": 2048, "output": 30},
    whole('{"input_tokens":3,"cache_creation_input_tokens":2048,"cache_read_input_tokens":0,'
          '"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":2048},"output_tokens":30}'),
    sse=stream('{"input_tokens":3,"cache_creation_input_tokens":2048,"cache_read_input_tokens":0,'
               '"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":2048},"output_tokens":2}',
               '{"input_tokens":3,"cache_creation_input_tokens":2048,"cache_read_input_tokens":0,"output_tokens":30}'),
)
case(
    "anthropic/every_cache_class", SONNET,
    {"fresh_input": 11, "cache_read": 4096, "cache_write_5m": 100, "cache_write_1h": 50, "output": 89,
     "reasoning": 10},
    whole('{"input_tokens":11,"cache_creation_input_tokens":150,"cache_read_input_tokens":4096,'
          '"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":50},'
          '"output_tokens":89,"output_tokens_details":{"thinking_tokens":10}}'),
    sse=stream('{"input_tokens":11,"cache_creation_input_tokens":150,"cache_read_input_tokens":4096,'
               '"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":50},"output_tokens":1}',
               '{"output_tokens":89,"output_tokens_details":{"thinking_tokens":10}}'),
)
case(
    "anthropic/writes_where_only_input_is_priced", BARE,
    {"fresh_input": 10, "cache_read": 100, "cache_write_5m": 200, "cache_write_1h": 400, "output": 5},
    whole('{"input_tokens":10,"cache_creation_input_tokens":600,"cache_read_input_tokens":100,'
          '"cache_creation":{"ephemeral_5m_input_tokens":200,"ephemeral_1h_input_tokens":400},"output_tokens":5}'),
    sse=stream('{"input_tokens":10,"cache_creation_input_tokens":600,"cache_read_input_tokens":100,'
               '"cache_creation":{"ephemeral_5m_input_tokens":200,"ephemeral_1h_input_tokens":400},"output_tokens":1}',
               '{"output_tokens":5}'),
)
case(
    "anthropic/thinking", OPUS, {"fresh_input": 40, "output": 900, "reasoning": 850},
    whole('{"input_tokens":40,"output_tokens":900,"output_tokens_details":{"thinking_tokens":850}}',
          '[{"type":"thinking","thinking":"Let me see.","signature":"c2ln"},{"type":"text","text":"Hello there."}]'),
    sse=stream('{"input_tokens":40,"output_tokens":8}',
               '{"output_tokens":900,"output_tokens_details":{"thinking_tokens":850}}'),
)
case(
    "anthropic/web_search", OPUS,
    {"fresh_input": 105, "cache_read": 7000, "cache_write_5m": 900, "output": 321, "web_searches": 2},
    whole('{"input_tokens":105,"cache_creation_input_tokens":900,"cache_read_input_tokens":7000,"output_tokens":321,'
          '"server_tool_use":{"web_search_requests":2,"web_fetch_requests":0}}'),
    sse=stream('{"input_tokens":105,"cache_creation_input_tokens":900,"cache_read_input_tokens":7000,"output_tokens":3}',
               '{"input_tokens":105,"cache_creation_input_tokens":900,"cache_read_input_tokens":7000,"output_tokens":321,'
               '"server_tool_use":{"web_search_requests":2,"web_fetch_requests":0}}'),
)
case(
    "anthropic/no_searches", OPUS, {"fresh_input": 5, "output": 6},
    whole('{"input_tokens":5,"output_tokens":6,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":3}}'),
    sse=stream('{"input_tokens":5,"output_tokens":1,"server_tool_use":null}',
               '{"output_tokens":6,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":3}}'),
)
RUNS = ('"iterations":[{"type":"compaction","input_tokens":18000,"cache_creation_input_tokens":0,'
        '"cache_read_input_tokens":2000,"output_tokens":700},{"type":"message","input_tokens":900,'
        '"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":60}]')
case(
    "anthropic/compaction_is_billed_beside_the_rest", SONNET,
    {"fresh_input": 18900, "cache_read": 2000, "output": 760},
    whole('{"input_tokens":900,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":60,' + RUNS + "}"),
    sse=stream('{"input_tokens":900,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}',
               '{"output_tokens":60,' + RUNS + "}"),
)
case(
    "anthropic/other_runs_are_in_the_counts", SONNET, {"fresh_input": 900, "output": 60},
    whole('{"input_tokens":900,"output_tokens":60,"iterations":[{"type":"fallback_message","input_tokens":400,'
          '"output_tokens":20},{"type":"message","input_tokens":500,"output_tokens":40}]}'),
    sse=stream('{"input_tokens":900,"output_tokens":1,"iterations":null}',
               '{"output_tokens":60,"iterations":[{"type":"fallback_message","input_tokens":400,"output_tokens":20}]}'),
)
case(
    "anthropic/tool_use", OPUS, {"fresh_input": 365, "output": 58},
    whole('{"input_tokens":365,"output_tokens":58}',
          '[{"type":"tool_use","id":"toolu_1","name":"get_price","input":{"pair":"ETH/USDC"}}]', "tool_use"),
    sse=stream('{"input_tokens":365,"output_tokens":1}', '{"output_tokens":58}', blocks=CALL, stop="tool_use"),
)
case(
    "anthropic/refusal_before_any_output", OPUS, {"fresh_input": 77},
    whole('{"input_tokens":77,"output_tokens":0}', "[]", "refusal"),
    sse=stream('{"input_tokens":77,"output_tokens":1}', '{"output_tokens":0}', blocks="", stop="refusal"),
)
case(
    "anthropic/pause_turn", OPUS, {"fresh_input": 20, "output": 44, "web_searches": 1},
    whole('{"input_tokens":20,"output_tokens":44,"server_tool_use":{"web_search_requests":1}}', stop="pause_turn"),
    sse=stream('{"input_tokens":20,"output_tokens":1}',
               '{"output_tokens":44,"server_tool_use":{"web_search_requests":1}}', stop="pause_turn"),
)
case(
    "anthropic/null_members", SONNET, {"fresh_input": 9, "output": 4},
    whole('{"input_tokens":9,"cache_creation_input_tokens":null,"cache_read_input_tokens":null,"cache_creation":null,'
          '"output_tokens":4,"server_tool_use":null,"service_tier":null}'),
    sse=stream('{"input_tokens":9,"cache_creation_input_tokens":null,"cache_read_input_tokens":null,"output_tokens":1}',
               '{"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":4,"server_tool_use":null}'),
)
case(
    "anthropic/proxy_counts_the_prompt_at_the_end", SONNET,
    {"fresh_input": 36, "cache_read": 64, "output": 5},
    whole('{"input_tokens":36,"cache_read_input_tokens":64,"output_tokens":5}'),
    sse=stream('{"input_tokens":0,"output_tokens":0}', '{"input_tokens":36,"cache_read_input_tokens":64,"output_tokens":5}'),
    estimated=stream('{"input_tokens":100,"output_tokens":0}',
                     '{"input_tokens":36,"cache_read_input_tokens":64,"output_tokens":5}'),
)
case(
    "anthropic/all_that_was_estimated_is_cached", SONNET, {"cache_read": 100, "output": 5},
    whole('{"input_tokens":0,"cache_read_input_tokens":100,"output_tokens":5}'),
    sse=stream('{"input_tokens":100,"output_tokens":0}', '{"input_tokens":0,"cache_read_input_tokens":100,"output_tokens":5}'),
)
case(
    "anthropic/proxy_ends_with_zeros", SONNET,
    {"fresh_input": 36, "cache_read": 64, "output": 5},
    sse=stream('{"input_tokens":36,"cache_read_input_tokens":64,"output_tokens":1}',
               '{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}'),
)
case(
    "anthropic/floats_and_strings", SONNET, {"fresh_input": 9, "output": 4},
    whole('{"input_tokens":9.0,"output_tokens":"4","cache_creation":[]}'),
    sse=stream('{"input_tokens":9.0,"output_tokens":1.0,"cache_creation":[]}', '{"output_tokens":"4"}'),
)
case(
    "anthropic/openrouter_cost", SONNET,
    {"fresh_input": 14, "cache_read": 2000, "output": 163, "provider_cost_usd": "0.003087"},
    whole('{"input_tokens":14,"cache_creation_input_tokens":0,"cache_read_input_tokens":2000,"output_tokens":163,"cost":0.003087}'),
    sse=stream('{"input_tokens":14,"cache_creation_input_tokens":0,"cache_read_input_tokens":2000,"output_tokens":1}',
               '{"output_tokens":163,"cost":0.003087}'),
)
case(
    "anthropic/blockrun_passed_through", {"input": "2", "output": "10", "cache_read": "0.2", "cache_write_5m": "2.5"},
    {"fresh_input": 21, "cache_read": 1111, "cache_write_5m": 333, "cache_write_1h": 7, "output": 222},
    whole('{"input_tokens":21,"cache_creation_input_tokens":340,"cache_read_input_tokens":1111,'
          '"cache_creation":{"ephemeral_5m_input_tokens":333,"ephemeral_1h_input_tokens":7},"output_tokens":222}'),
    sse=stream('{"input_tokens":21,"cache_creation_input_tokens":340,"cache_read_input_tokens":1111,'
               '"cache_creation":{"ephemeral_5m_input_tokens":333,"ephemeral_1h_input_tokens":7},"output_tokens":1}',
               '{"output_tokens":222}'),
)
case(
    "anthropic/bankr", {"input": "3.0", "output": "15.0", "cache_read": "0.3", "cache_write_5m": "3.75"},
    {"fresh_input": 1, "cache_read": 1, "output": 1},
    whole('{"input_tokens":1,"cache_read_input_tokens":1,"output_tokens":1}'),
    sse=stream('{"input_tokens":1,"cache_read_input_tokens":1,"output_tokens":1}', '{"output_tokens":1}'),
)
case("anthropic/no_usage", OPUS, None, whole(""), sse=stream("", ""))
case(
    "anthropic/no_usage_at_the_end", OPUS, {"fresh_input": 12, "cache_read": 300},
    sse=stream('{"input_tokens":12,"cache_read_input_tokens":300,"output_tokens":1}', ""),
)
case(
    "anthropic/one_token_over_a_micro_dollar", {"input": "0.000001", "output": "1"},
    {"fresh_input": 1, "output": 1},
    whole('{"input_tokens":1,"output_tokens":1}'),
    sse=stream('{"input_tokens":1,"output_tokens":1}', '{"output_tokens":1}'),
)
