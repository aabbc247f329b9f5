"""Asks the gateway as programs do that use the clients below, and prints what they found as JSON."""

import json
import sys

import anthropic
import openai
from pydantic import BaseModel

origin, key, model = sys.argv[1:4]
found = {}


class Place(BaseModel):
    city: str


def use_responses():
    client = openai.OpenAI(base_url=f"{origin}/v1", api_key=key, max_retries=0)
    ask = {"model": model, "input": "Say hello to Ada"}
    response = client.responses.create(**ask)
    found["responses_text"] = response.output_text
    found["responses_usage"] = response.usage.total_tokens > 0
    found["responses_events"] = [event.type for event in client.responses.create(**ask, stream=True)]
    with client.responses.stream(**ask) as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        found["responses_stream"] = [stream.get_final_response().output_text, "".join(pieces)]
    parsed = client.responses.parse(**ask, text_format=Place)
    found["responses_parsed"] = type(parsed.output_parsed).__name__


def use_messages():
    client = anthropic.Anthropic(base_url=origin, api_key=key, max_retries=0)
    messages = [{"role": "user", "content": "Say hello to Ada"}]
    ask = {"model": model, "max_tokens": 200, "messages": messages}
    found["messages_text"] = client.messages.create(**ask).content[0].text
    with client.messages.stream(**ask) as stream:
        found["messages_stream"] = ["".join(stream.text_stream), stream.get_final_message().content[0].text]
    found["messages_count"] = client.messages.count_tokens(model=model, messages=messages).input_tokens
    try:
        anthropic.Anthropic(base_url=origin, api_key="sk-wrong").messages.create(**ask)
    except anthropic.APIStatusError as error:
        found["messages_wrong_key"] = [type(error).__name__, bool(error.request_id)]


use_responses()
use_messages()
print(json.dumps(found))
