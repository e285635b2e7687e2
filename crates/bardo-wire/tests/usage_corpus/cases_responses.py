"""OpenAI Responses."""

from corpus import case

GPT = {"input": "2.5", "output": "15", "cache_read": "0.25", "cache_write_5m": "2.5", "web_search": "0.01"}
MESSAGE = ('{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":'
           '[{"type":"output_text","text":"Hello there.","annotations":[],"logprobs":[]}]}')
SEARCH = '{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"eth gas"}}'


def response(usage, output=f"[{MESSAGE}]", status="completed", more=""):
    usage = usage or "null"
    return (
        f'{{"id":"resp_1","object":"response","created_at":1763600000,"status":"{status}","error":null,"model":"gpt-5.5",'
        f'"output":{output},"parallel_tool_calls":true,"usage":{usage}{more}}}'
    )


def event(kind, rest):
    return f'event: {kind}\ndata: {{"type":"{kind}",{rest}}}\n\n'


def stream(usage, output=f"[{MESSAGE}]", status="completed", more=""):
    begun = response("", "[]", "in_progress")
    text = event("response.created", f'"sequence_number":0,"response":{begun}')
    text += event("response.in_progress", f'"sequence_number":1,"response":{begun}')
    text += event("response.output_item.added", '"output_index":0,"item":{"type":"message","id":"msg_1","status":"in_progress","role":"assistant","content":[]}')
    text += event("response.content_part.added", '"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}')
    for piece in ("Hello ", "there."):
        text += event("response.output_text.delta", f'"item_id":"msg_1","output_index":0,"content_index":0,"delta":"{piece}","obfuscation":"x8"')
    text += event("response.output_text.done", '"item_id":"msg_1","output_index":0,"content_index":0,"text":"Hello there."')
    text += event("response.output_item.done", f'"output_index":0,"item":{MESSAGE}')
    return text + event(f"response.{status}", f'"response":{response(usage, output, status, more)}')


def both(name, price, usage, told, **rest):
    case(f"responses/{name}", price, usage, response(told, **rest), sse=stream(told, **rest))


both("plain", GPT, {"fresh_input": 36, "output": 87, "reasoning": 0},
     '{"input_tokens":36,"input_tokens_details":{"cached_tokens":0},"output_tokens":87,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":123}')
both("cached_and_written", GPT,
     {"fresh_input": 200, "cache_read": 3712, "cache_write_5m": 24, "output": 20, "reasoning": 5},
     '{"input_tokens":3936,"input_tokens_details":{"cached_tokens":3712,"cache_write_tokens":24},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":3956}')
both("reasoning_has_its_own_price", {**GPT, "reasoning": "6"},
     {"fresh_input": 81, "output": 1035, "reasoning": 832},
     '{"input_tokens":81,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":1035,"output_tokens_details":{"reasoning_tokens":832},"total_tokens":1116}')
both("searches_as_counted", GPT,
     {"fresh_input": 328, "output": 356, "reasoning": 0, "web_searches": 3},
     '{"input_tokens":328,"input_tokens_details":{"cached_tokens":0},"output_tokens":356,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":684}',
     more=',"tool_usage":{"web_search":{"num_requests":3}}')
both("searches_as_shown", GPT,
     {"fresh_input": 328, "output": 356, "web_searches": 1},
     '{"input_tokens":328,"output_tokens":356,"total_tokens":684}',
     output=f"[{SEARCH},{MESSAGE}]")
both("cut_by_length", GPT, {"fresh_input": 10, "output": 16, "reasoning": 0},
     '{"input_tokens":10,"output_tokens":16,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":26}',
     status="incomplete", more=',"incomplete_details":{"reason":"max_output_tokens"}')
both("audio", {**GPT, "audio_input": "32", "audio_output": "64"},
     {"fresh_input": 120, "output": 200, "audio_input": 100, "audio_output": 150},
     '{"input_tokens":120,"input_tokens_details":{"cached_tokens":0,"audio_tokens":100},"output_tokens":200,"output_tokens_details":{"audio_tokens":150},"total_tokens":320}')
both("openrouter_cost", GPT,
     {"fresh_input": 36, "output": 87, "provider_cost_usd": "0.00139500"},
     '{"input_tokens":36,"output_tokens":87,"total_tokens":123,"cost":"0.00139500"}')
both("odd_shapes", GPT, {"fresh_input": 36, "output": 87},
     '{"input_tokens":36.0,"input_tokens_details":[],"output_tokens":"87","output_tokens_details":null}')
both("no_usage", GPT, None, "")
