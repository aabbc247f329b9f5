"""Gives requests what no schema says: a model that is served, a file that is sound, an address that is signed."""

import io
import json
import os
import wave
from urllib.parse import parse_qsl, urlsplit

import schemathesis

MODELS = {
    "/chat/completions": "famA-4o-mini",
    "/responses": "famA-4o-mini",
    "/messages": "famA-4o-mini",
    "/embeddings": "text-embedding-3-small",
    "/images/generations": "famB-3-pro-image-preview",
    "/audio/transcriptions": "famW-large-v3-turbo",
    "/audio/speech": "famT/v1-english",
}


def make_silence():
    """A tenth of a second of it, as WAV."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(8000)
        writer.writeframes(bytes(1600))
    return file.getvalue()


# What a conversation is, and the fields that mean the same beside any other; the rest must fit one another.
CONVERSATIONS = {
    "/responses": {"input": "Hi"},
    "/responses/input_tokens": {"input": "Hi"},
    "/messages": {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
}
PLAIN = ("model", "stream", "temperature", "top_p", "max_tokens", "max_output_tokens")

# What is there of the management API, and what must stay there for the next request.
ORGANIZATION = json.loads(os.environ["ORGANIZATION_IDS"])

SILENCE = make_silence()
PICTURE = urlsplit(os.environ["PICTURE_URL"])


@schemathesis.hook
def before_call(_context, case, _kwargs):
    if case.operation.path.endswith("/files/{id}") and case.meta.generation.mode.is_positive:
        case.path_parameters = {"id": PICTURE.path.rsplit("/", 1)[1]}
        case.query = dict(parse_qsl(PICTURE.query))
    # Deletions get other ids, so that this one stays.
    is_stored = "/responses/{id}" in case.operation.path and case.operation.method.upper() == "GET"
    if is_stored and case.meta.generation.mode.is_positive:
        case.path_parameters = {"id": os.environ["RESPONSE_ID"]}
    if "/organization/" in case.operation.path and case.meta.generation.mode.is_positive and case.path_parameters:
        ends = case.operation.method.upper() == "DELETE" or case.operation.path.endswith("/archive")
        stays = ("project_id",) if ends and not case.operation.path.endswith("/archive") else ()
        known = {name: value for name, value in ORGANIZATION.items() if not ends or name in stays}
        case.path_parameters = {name: known.get(name, value) for name, value in case.path_parameters.items()}
    talk = next((talk for path, talk in CONVERSATIONS.items() if case.operation.path.endswith(path)), None)
    # The rest of the coverage phase tries how what does not fit is refused.
    is_plain = case.meta.phase.name == "fuzzing" or len(str(case.body)) % 2 == 0
    if talk is not None and is_plain and case.meta.generation.mode.is_positive and isinstance(case.body, dict):
        case.body = {name: value for name, value in case.body.items() if name in PLAIN} | talk
    served = next((model for path, model in MODELS.items() if case.operation.path.endswith(path)), None)
    if served is None or not isinstance(case.body, dict):
        return
    given = case.body.get("model")
    # What breaks the schema is left as it is: it must be refused.
    if isinstance(given, str) and 0 < len(given) <= 200:
        case.body = {**case.body, "model": served}
    if "file" in case.body and case.meta.generation.mode.is_positive:
        case.body = {**case.body, "file": SILENCE}
