"""Has an agent of the Agents SDK call a tool through the gateway, whole and streamed, and prints its answers as JSON."""

import asyncio
import json
import sys

import openai
from agents import Agent, ModelSettings, OpenAIProvider, RunConfig, Runner, function_tool, set_tracing_disabled

origin, key, model = sys.argv[1:4]


@function_tool
def add_numbers(a: float, b: float) -> str:
    """Adds two numbers."""
    return f"the sum {a + b}"


async def use_agents(streamed: bool):
    client = openai.AsyncOpenAI(base_url=f"{origin}/v1", api_key=key, max_retries=0)
    agent = Agent(name="adder", instructions="Use the tool", model=model, tools=[add_numbers])
    config = RunConfig(model_provider=OpenAIProvider(openai_client=client), model_settings=ModelSettings())
    if not streamed:
        return (await Runner.run(agent, "Use add_numbers for 5 and 7", run_config=config)).final_output
    result = Runner.run_streamed(agent, "Use add_numbers for 5 and 7", run_config=config)
    async for _ in result.stream_events():
        pass
    return result.final_output


set_tracing_disabled(True)
print(json.dumps([asyncio.run(use_agents(False)), asyncio.run(use_agents(True))]))
