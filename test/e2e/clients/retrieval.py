"""Clients that rank documents and make vectors, as their pages begin: prints one JSON object of findings."""

import importlib.util
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
origin, key = sys.argv[1:3]
os.environ |= {"CO_API_KEY": key, "VOYAGE_API_KEY": key, "OPENAI_API_KEY": key, "OPENAI_BASE_URL": f"{origin}/v1"}
documents = ["Carson City is in Nevada", "The capital of France is Paris", "Bears sleep in winter"]
query = "What is the capital of France?"
rank, voyage_rank = "rerank-v3.5", "rerank-3"
embed, voyage_embed = "text-embedding-3-small", "voyage-4"
found = {}


def attempt(name, *needed):
    """Runs a row where its packages are installed, and keeps what it returns, or how it failed."""

    def run(row):
        if any(importlib.util.find_spec(package) is None for package in needed):
            return
        try:
            found[name] = row()
        except Exception as error:  # Every failure is a finding.
            found[name] = f"{type(error).__module__}.{type(error).__name__}: {str(error)[:300]}"

    return run


def summary(results):
    """How many results there are, and whether they come by their relevance."""
    scores = [result.relevance_score for result in results]
    return [len(results), scores == sorted(scores, reverse=True)]


@attempt("cohere", "cohere")
def _():
    import cohere

    client = cohere.ClientV2(base_url=origin)
    answer = client.rerank(model=rank, query=query, documents=documents, top_n=2)
    return [*summary(answer.results), answer.meta.billed_units.search_units]


@attempt("cohere v1", "cohere")
def _():
    import cohere

    client = cohere.Client(base_url=origin)
    answer = client.rerank(model=rank, query=query, documents=documents, return_documents=True)
    return [*summary(answer.results), answer.results[0].document.text in documents]


@attempt("cohere errors", "cohere")
def _():
    import cohere

    raised = []
    for used, model in [("sk-wrong", rank), (key, "no-such-model")]:
        try:
            cohere.ClientV2(api_key=used, base_url=origin).rerank(model=model, query=query, documents=documents)
        except cohere.core.ApiError as error:
            raised.append([type(error).__name__, error.status_code])
    return raised


@attempt("voyageai", "voyageai")
def _():
    import voyageai

    client = voyageai.Client(base_url=f"{origin}/v1")
    answer = client.rerank(query, documents, model=voyage_rank, top_k=2)
    return [*summary(answer.results), answer.results[0].document in documents, answer.total_tokens > 0]


@attempt("voyageai vectors", "voyageai")
def _():
    import voyageai

    client = voyageai.Client(base_url=f"{origin}/v1")
    answer = client.embed(documents, model=voyage_embed, input_type="document")
    return [len(answer.embeddings), len(answer.embeddings[0]), answer.total_tokens > 0]


@attempt("langchain cohere", "langchain_cohere")
def _():
    from langchain_cohere import CohereRerank
    from langchain_core.documents import Document

    ranker = CohereRerank(model=rank, base_url=origin, top_n=2)
    ranked = ranker.compress_documents([Document(page_content=text) for text in documents], query)
    return [len(ranked), ranked[0].page_content in documents, "relevance_score" in ranked[0].metadata]


@attempt("langchain voyageai", "langchain_voyageai")
def _():
    from langchain_core.documents import Document
    from langchain_voyageai import VoyageAIRerank

    ranker = VoyageAIRerank(model=voyage_rank, top_k=2, base_url=f"{origin}/v1")
    ranked = ranker.compress_documents([Document(page_content=text) for text in documents], query)
    return [len(ranked), ranked[0].page_content in documents]


@attempt("langchain voyageai vectors", "langchain_voyageai")
def _():
    import voyageai
    from langchain_voyageai import VoyageAIEmbeddings

    # The vocabulary of Voyage's tokens would come from the network.
    voyageai.Client.tokenize = lambda self, texts, model=None: [text.split() for text in texts]
    embedder = VoyageAIEmbeddings(model=voyage_embed, base_url=f"{origin}/v1")
    return [len(embedder.embed_documents(documents)), len(embedder.embed_query(query))]


@attempt("langchain openai vectors", "langchain_openai")
def _():
    from langchain_openai import OpenAIEmbeddings

    # The vocabulary of OpenAI's tokens would come from the network.
    embedder = OpenAIEmbeddings(model=embed, check_embedding_ctx_length=False)
    return [len(embedder.embed_documents(documents)), len(embedder.embed_query(query))]


print(json.dumps(found))
