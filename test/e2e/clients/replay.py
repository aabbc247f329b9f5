"""What the official openai client for Python reads of recorded chats: asks as told, prints one JSON list."""

import json
import sys

import openai

base_url, key, steps_path = sys.argv[1:4]
client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)


def whole(model, messages):
    message = client.chat.completions.create(model=model, messages=messages).choices[0].message
    calls = message.tool_calls or []
    return message.content or "", [[call.function.name, call.function.arguments] for call in calls]


def streamed(model, messages):
    text, calls = "", []
    for chunk in client.chat.completions.create(model=model, messages=messages, stream=True):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or []:
                if piece.index == len(calls):
                    calls.append([piece.function.name, ""])
                calls[piece.index][1] += piece.function.arguments or ""
    return text, calls


def heard(step):
    ask = streamed if step["stream"] else whole
    try:
        text, calls = ask(step["model"], [{"role": "user", "content": "Hello"}])
    except openai.APIStatusError as error:
        return {"error": type(error).__name__, "status": error.status_code}
    except openai.APIError as error:
        return {"error": type(error).__name__, "status": None}
    return {"text": text, "tools": [[name, json.loads(arguments)] for name, arguments in calls]}


with open(steps_path) as file:
    print(json.dumps([heard(step) for step in json.load(file)]))
