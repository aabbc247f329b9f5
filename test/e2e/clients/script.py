"""What the official openai client for Python makes of the gateway: prints one JSON object of findings."""

import base64
import io
import json
import sys

import openai

base_url, key, wav_path = sys.argv[1:4]
client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)
model = "famA-4o-mini"
messages = [{"role": "user", "content": "Say hello to Ada"}]
found = {}

completion = client.chat.completions.create(model=model, messages=messages)
found["chat"] = completion.choices[0].message.content
found["usage"] = completion.usage.total_tokens > 0

pieces, total = [], 0
options = {"include_usage": True}
for chunk in client.chat.completions.create(model=model, messages=messages, stream=True, stream_options=options):
    pieces += [choice.delta.content or "" for choice in chunk.choices]
    total = chunk.usage.total_tokens if chunk.usage else total
found["stream"] = "".join(pieces)
found["stream_usage"] = total > 0

numbers = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
tools = [{"type": "function", "function": {"name": "add_numbers", "parameters": numbers}}]
turn = [{"role": "user", "content": "Use add_numbers for 5 and 7"}]
message = client.chat.completions.create(model=model, messages=turn, tools=tools).choices[0].message
call = message.tool_calls[0]
found["tool"] = [call.function.name, sorted(json.loads(call.function.arguments))]
result = {"role": "tool", "tool_call_id": call.id, "content": "twelve"}
answer = client.chat.completions.create(model=model, messages=[*turn, message, result], tools=tools)
found["after_tool"] = answer.choices[0].message.content

found["embedding"] = len(client.embeddings.create(model="text-embedding-3-small", input="one").data[0].embedding)
floats = client.embeddings.create(model="text-embedding-3-small", input="one", encoding_format="float")
found["embedding_float"] = len(floats.data[0].embedding)

image = client.images.generate(model="famB-3-pro-image-preview", prompt="A kite", response_format="b64_json")
found["image"] = base64.b64decode(image.data[0].b64_json)[1:4].decode()

with open(wav_path, "rb") as file:
    wav = file.read()
transcribe = client.audio.transcriptions.create
upload = lambda: ("speech.wav", io.BytesIO(wav), "audio/wav")
found["transcription"] = transcribe(model="famW-large-v3", file=upload()).text
found["transcription_text"] = transcribe(model="famW-large-v3", file=upload(), response_format="text").strip()
found["transcription_seconds"] = transcribe(model="famW-large-v3", file=upload(), response_format="verbose_json").duration

found["speech"] = client.audio.speech.create(model="famT/v1-english", input="Hello", voice=sys.argv[4]).read()[:4].decode()

found["models"] = len([entry.id for entry in client.models.list()])
found["model"] = client.models.retrieve("famA/oss-20b").id


texts, previous = [], None
with client.responses.connect() as connection:
    for words in ("Say hello to Ada", "Once more", "And again"):
        connection.response.create(model=model, store=False, input=words, previous_response_id=previous)
        for event in connection:
            if event.type == "error":
                raise SystemExit(event.to_json())
            if event.type == "response.completed":
                break
        texts.append(event.response.output_text)
        previous = event.response.id
found["turns"] = texts


def failure(ask):
    try:
        ask()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, bool(error.request_id)]
    except openai.APIError as error:
        return [type(error).__name__]
    return None


def chat(content, **fields):
    return client.chat.completions.create(model=model, messages=[{"role": "user", "content": content}], **fields)


stranger = openai.OpenAI(base_url=base_url, api_key="sk-wrong", max_retries=0)
found["errors"] = [
    failure(lambda: chat("a", temperature=3)),
    failure(lambda: stranger.models.list()),
    failure(lambda: client.models.retrieve("nobody")),
    failure(lambda: chat("[[fault:status=429]]")),
    failure(lambda: chat("[[fault:status=503]]")),
    failure(lambda: list(chat("one two three four [[fault:error=3]]", stream=True))),
]

print(json.dumps(found))
