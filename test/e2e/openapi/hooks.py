"""Gives requests what no schema says: a model that is served, a file that is sound, an address that is signed."""

import io
import json
import os
import uuid
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
    "/audio/translations": "famW-large-v3",
    "/images/edits": "famB-3-pro-image-preview",
    "/rerank": "cohere/rerank-v5.0-fast",
    "/moderations": "omni-moderation-latest",
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

# Texts of a form that a schema does not say, and times to come.
PLAUSIBLE = {
    "usd": "1.00",
    "budget_usd": "1.00",
    "markup_percent": "12.5",
    "allowed_networks": ["10.0.0.0/8"],
    "expires_at": 4102444800,
    "name": "a name",
}

def named(case):
    """Bodies of the routes for providers and the catalogue, whose forms no schema says; what is secret is there once."""
    path, number = case.operation.path, f"{len(str(case.body))}-{len(str(case.headers))}"
    body = {name: value for name, value in case.body.items() if name not in ("key", "fields")}
    if path.endswith("/providers"):
        models = [{"id": f"test-{number}/llama", "premium": False}]
        manifest = {"baseUrl": "http://127.0.0.1:9/v1", "dialect": "openai", "models": models}
        return body | {"name": f"test-{number}", "manifest": manifest}
    if path.endswith("/provider_tests"):
        return {"name": "test-a", "key": f"key-that-is-not-saved-{number}"}
    if path.endswith("/test"):
        return {}
    if path.endswith("/catalogue"):
        return {"revision": "*", "files": {"openai": {"models": []}}}
    if "/catalogue/models/" in path:
        return {"row": {"priority": 5}}
    if "/catalogue/unlisted/" in path:
        return {"terms": None}
    if "/catalogue/" in path:
        return {"content": {"models": []}}
    return {"key": f"key-of-a-provider-{number}"} if "/keys" in path else body


def alert(path, body):
    """Bodies of the routes for alerts, whose fields must fit one another."""
    if path.endswith("/channels"):
        return {"kind": "webhook", "url": "https://hooks.example.com/alerts"}
    if "/channels/" in path:
        return {"severity": "critical", "digest": "daily"}
    if "/metric_rules" in path:
        condition = {"metric": "calls", "scope": "gateway", "comparison": "above", "threshold": "5", "minutes": 60}
        return {"name": "calls", **condition}
    if "/rules/" in path:
        return {"enabled": True, "threshold": "80"}
    if path.endswith("/mail_server"):
        return {"host": "mail.example.com", "port": 587, "tls": False, "from": "gateway@example.com"}
    return body


# Each provider is re-routed once.
REROUTED = ["cohere", "deepseek", "fireworks", "gemini", "together", "xai"]


def reroute(path):
    """A re-route of a provider that has none yet, or another end of one."""
    if not path.endswith("/reroutes"):
        return {"ends_at": 4102444800}
    return {"subject": "provider", "name": REROUTED.pop() if REROUTED else "zai"}


def budget(path, body):
    """A budget that is not there yet; a raise has an amount and a time to come."""
    body = body | ({} if "raise_usd" not in body else {"raise_usd": "1.00", "raise_until": 4102444800})
    if "raise_usd" not in body:
        body.pop("raise_until", None)
    if path.endswith("/budgets"):
        number = f"{len(str(body))}-{uuid.uuid4()}"
        body = body | {"subject": "tag", "name": number, "api_key_id": None}
    return body | ({"budget_period": "day"} if "budget_period" in body else {})


def issuers(case):
    """All issuers that others need, another one, or other audiences of one."""
    path, method = case.operation.path, case.operation.method.upper()
    fields = {"audiences": ["modelgate"], "claims": {"account": "email"}}
    if method == "PUT":
        return {"issuers": [fields | {"issuer": ORGANIZATION[name]} for name in ("issuer", "ended_issuer")]}
    return fields | ({"issuer": f"https://{uuid.uuid4()}.example.com"} if path.endswith("/jwt_issuers") else {})


SILENCE = make_silence()
PICTURE = urlsplit(os.environ["PICTURE_URL"])


def manage(case):
    """Names what is there, and for what ends it something that nobody else needs."""
    ends = case.operation.method.upper() == "DELETE"
    is_admin_key = "/admin_api_keys/" in case.operation.path

    def known(name, value):
        if case.operation.path.endswith("/archive"):
            return value
        if name == "key_id" and is_admin_key:
            return ORGANIZATION["admin_key_id"]
        if name == "rate_limit_id" and "/projects/" not in case.operation.path:
            name = "shared_rate_limit_id"
        # A project has one markup, which other requests need.
        if name == "markup_id" and ends and "/projects/" in case.operation.path:
            return value
        if name in ("budget_id", "group_role_id", "markup_id", "policy_id") and "/projects/" not in case.operation.path:
            name = f"gateway_{name}"
        return (ORGANIZATION.get(f"ended_{name}") if ends else None) or ORGANIZATION.get(name, value)

    if case.path_parameters:
        case.path_parameters = {name: known(name, value) for name, value in case.path_parameters.items()}
    if isinstance(case.body, dict) and any(area in case.operation.path for area in ("/provider", "/catalogue")):
        case.body = named(case)
    elif isinstance(case.body, dict):
        body = {name: PLAUSIBLE.get(name, value) if value else value for name, value in case.body.items()}
        if "email" in body:
            body["email"] = f"{len(str(case.body))}-{len(str(body))}@example.org"
        if case.operation.path.endswith("/users"):
            body = {"user_id": ORGANIZATION["user_id"], "role": body.get("role", "member")}
        if "/sessions/" in case.operation.path:
            body = {}
        if "/budgets" in case.operation.path:
            body = budget(case.operation.path, body)
        if "/rate_limits" in case.operation.path:
            body = body | {"max_requests_per_1_minute": 5} | ({"api_key_id": None} if "api_key_id" in body else {})
        if case.operation.path.endswith("/markups"):
            body = body | {"provider": None}
        if "/policies" in case.operation.path:
            # No file has it, so a closed one would refuse all calls.
            body = body | {"on_failure": "open"} | ({"api_key_id": None} if "api_key_id" in body else {})
        if "/reroutes" in case.operation.path:
            body = reroute(case.operation.path)
        if "/alerts/" in case.operation.path or case.operation.path.endswith("/mail_server"):
            body = alert(case.operation.path, body)
        if "/jwt_issuers" in case.operation.path:
            body = issuers(case)
        if "expires_at" in body:
            body.pop("expires_in_seconds", None)
        if "budget_period" in body and "budget_usd" not in body:
            body["budget_usd"] = "1.00"
        if body.get("billed_afterwards") and "/projects" in case.operation.path:
            body["budget_usd"] = "1.00"
        case.body = body


@schemathesis.hook
def before_call(_context, case, _kwargs):
    if case.operation.path.endswith("/files/{id}") and case.meta.generation.mode.is_positive:
        case.path_parameters = {"id": PICTURE.path.rsplit("/", 1)[1]}
        case.query = dict(parse_qsl(PICTURE.query))
    # Deletions get other ids, so that this one stays.
    is_stored = "/responses/{id}" in case.operation.path and case.operation.method.upper() == "GET"
    if is_stored and case.meta.generation.mode.is_positive:
        case.path_parameters = {"id": os.environ["RESPONSE_ID"]}
    if "/requests/{request_id}" in case.operation.path and case.meta.generation.mode.is_positive:
        case.path_parameters = {"request_id": os.environ["REQUEST_ID"]}
    if case.operation.path.endswith("/key/sessions/{session}") and case.meta.generation.mode.is_positive:
        case.path_parameters = {"session": ORGANIZATION["session"]}
    if "/organization/" in case.operation.path and case.meta.generation.mode.is_positive:
        manage(case)
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
