"""The clients of Python that people use most, without options: prints one JSON object of findings."""

import importlib.util
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
base_url, key, model = sys.argv[1:4]
os.environ |= {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": base_url, "OPENAI_API_BASE": base_url}
# LiteLLM brings the vocabulary that LangChain would fetch from the network.
tables = importlib.util.find_spec("litellm").submodule_search_locations[0] + "/litellm_core_utils/tokenizers"
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "TIKTOKEN_CACHE_DIR": tables}
embedder = "text-embedding-3-small"
found = {}


def attempt(name):
    """Runs a row at once and keeps what it returns, or how it failed."""

    def run(row):
        try:
            found[name] = row()
        except Exception as error:  # Every failure is a finding.
            found[name] = f"{type(error).__module__}.{type(error).__name__}: {str(error)[:300]}"

    return run


def raised(call):
    """The class of what a call raises."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def add_numbers(a: int, b: int) -> str:
    """Adds two numbers."""
    return "twelve"


ask = "Say hello to Ada"
use = "Use add_numbers for 5 and 7"


@attempt("langchain chat")
def _():
    from langchain_openai import ChatOpenAI

    chat = ChatOpenAI(model=model)
    streamed = "".join(chunk.text for chunk in chat.stream(ask))
    calls = chat.bind_tools([add_numbers]).invoke(use).tool_calls
    return ["Ada" in chat.invoke(ask).text, "Ada" in streamed, calls[0]["name"]]


@attempt("langchain responses")
def _():
    from langchain_openai import ChatOpenAI

    return ["Ada" in ChatOpenAI(model=model, use_responses_api=True).invoke(ask).text]


@attempt("langchain completions")
def _():
    from langchain_openai import OpenAI

    llm = OpenAI(model=model)
    return [["Ada" in text for text in llm.batch([ask, ask])], "Ada" in "".join(llm.stream(ask))]


@attempt("langchain embeddings")
def _():
    from langchain_openai import OpenAIEmbeddings

    vectors = [OpenAIEmbeddings(model=name).embed_documents(["one", "two"]) for name in (embedder, "famB-embedding-001")]
    return [[len(vector) for vector in pair] for pair in vectors]


@attempt("llama-index")
def _():
    from llama_index.core.llms import ChatMessage
    from llama_index.embeddings.openai_like import OpenAILikeEmbedding
    from llama_index.llms.openai_like import OpenAILike

    llm = OpenAILike(model=model, api_base=base_url, api_key=key)
    streamed = [piece.text for piece in llm.stream_complete(ask)][-1]
    vector = OpenAILikeEmbedding(model_name=embedder, api_base=base_url, api_key=key).get_text_embedding("one")
    chat = llm.chat([ChatMessage(role="user", content=ask)]).message.content
    return ["Ada" in llm.complete(ask).text, "Ada" in streamed, "Ada" in chat, len(vector)]


@attempt("litellm")
def _():
    import litellm

    litellm.suppress_debug_info = True
    name, messages = f"openai/{model}", [{"role": "user", "content": ask}]
    whole = litellm.completion(model=name, messages=messages).choices[0].message.content
    chunks = litellm.completion(model=name, messages=messages, stream=True)
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    text = litellm.text_completion(model=f"text-completion-openai/{model}", prompt=ask).choices[0].text
    vectors = litellm.embedding(model=f"openai/{embedder}", input=["one"]).data
    speech = litellm.speech(model="openai/famT/v1-english", input="Hi", voice="alloy").content
    return ["Ada" in whole, "Ada" in streamed, "Ada" in text, len(vectors[0]["embedding"]), speech[:4].decode()]


@attempt("litellm errors")
def _():
    import litellm

    name = f"openai/{model}"

    def chat(content, **options):
        return lambda: litellm.completion(
            model=name, messages=[{"role": "user", "content": content}], num_retries=0, max_retries=0, **options
        )

    wrong = [raised(chat(ask, api_key=secret)) for secret in ("hello", f"{key[:-1]}0")]
    tokens = lambda: litellm.embedding(model=f"openai/{embedder}", input=["word " * 9000], max_retries=0)
    return [*wrong, raised(tokens), raised(chat("[[fault:status=429]]"))]


@attempt("instructor")
def _():
    import instructor
    import openai
    from pydantic import BaseModel

    class Place(BaseModel):
        city: str

    messages = [{"role": "user", "content": "Where is the Louvre?"}]
    modes = [instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA, instructor.Mode.RESPONSES_TOOLS]
    clients = [instructor.from_openai(openai.OpenAI(), mode=mode) for mode in modes]
    places = [client.chat.completions.create(model=model, messages=messages, response_model=Place) for client in clients]
    return [type(place.city).__name__ for place in places]


@attempt("pydantic-ai")
def _():
    from pydantic_ai import Agent

    def run(prefix):
        agent = Agent(f"{prefix}:{model}", tools=[add_numbers])
        return "twelve" in agent.run_sync(use).output

    return [run("openai"), run("openai-chat"), run("openai-responses")]


@attempt("anthropic")
def _():
    import anthropic

    client = anthropic.Anthropic(api_key=key, base_url=base_url.removesuffix("/v1"))
    pages = [entry.id for entry in client.models.list(limit=20)]
    whole = client.models.list()
    named = client.models.retrieve(model).display_name
    message = client.messages.create(model=model, max_tokens=100, messages=[{"role": "user", "content": ask}])
    return [pages == [entry.id for entry in whole.data], whole.has_more, named, "Ada" in message.content[0].text]


@attempt("openai")
def _():
    import openai

    client = openai.OpenAI()
    models = [entry.id for entry in client.models.list()]
    text = client.completions.create(model=model, prompt=ask, max_tokens=50).choices[0].text
    named = client.models.retrieve(model)
    tokens = client.embeddings.create(model=embedder, input=[[9906, 1917]]).usage.prompt_tokens
    speech = client.audio.speech.create(model="famT/v1-english", voice="alloy", input="Hi. " * 100, response_format="pcm")
    return [model in models, "Ada" in text, named.id, tokens, len(speech.read()) > 0]


print(json.dumps(found))
