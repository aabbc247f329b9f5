//! What async-openai makes of the gateway: prints one JSON object of findings.

use async_openai::{
    Client,
    config::OpenAIConfig,
    error::OpenAIError,
    types::{
        chat::{
            ChatCompletionRequestMessage, ChatCompletionRequestUserMessage, ChatCompletionTools,
            CreateChatCompletionRequest,
        },
        embeddings::CreateEmbeddingRequestArgs,
        responses::{CreateResponseArgs, ResponseStreamEvent},
    },
};
use futures::StreamExt;
use serde_json::{Map, Value, json};

const MODEL: &str = "famA-4o-mini";
type Found = Result<Value, OpenAIError>;

fn ask(content: &str) -> CreateChatCompletionRequest {
    let message = ChatCompletionRequestUserMessage::from(content);
    CreateChatCompletionRequest {
        model: MODEL.into(),
        messages: vec![ChatCompletionRequestMessage::from(message)],
        ..Default::default()
    }
}

async fn read(client: &Client<OpenAIConfig>, content: &str) -> Result<String, OpenAIError> {
    let mut request = ask(content);
    request.stream = Some(true);
    let mut stream = client.chat().create_stream(request).await?;
    let mut text = String::new();
    while let Some(chunk) = stream.next().await {
        for choice in chunk?.choices {
            text += &choice.delta.content.unwrap_or_default();
        }
    }
    Ok(text)
}

async fn chat(client: &Client<OpenAIConfig>) -> Found {
    let answer = client.chat().create(ask("Say hello to Ada")).await?;
    let text = answer.choices[0].message.content.clone().unwrap_or_default();
    let total = answer.usage.map_or(0, |usage| usage.total_tokens);
    Ok(json!(text.contains("Ada") && total > 0))
}

async fn tools(client: &Client<OpenAIConfig>) -> Found {
    let mut request = ask("Use add_numbers for 5 and 7");
    let function = json!({"type": "function", "function": {"name": "add_numbers", "parameters": {"type": "object"}}});
    let tool: ChatCompletionTools = serde_json::from_value(function).expect("a tool");
    request.tools = Some(vec![tool]);
    let first = client.chat().create(request.clone()).await?;
    let message = serde_json::to_value(&first.choices[0].message).expect("a message");
    let call = message["tool_calls"][0].clone();
    let result = json!({"role": "tool", "tool_call_id": call["id"], "content": "twelve"});
    for said in [message, result] {
        request.messages.push(serde_json::from_value(said).expect("a message"));
    }
    let second = client.chat().create(request).await?;
    let text = second.choices[0].message.content.clone().unwrap_or_default();
    Ok(json!([call["function"]["name"], text.contains("twelve")]))
}

async fn responses(client: &Client<OpenAIConfig>) -> Found {
    let request = CreateResponseArgs::default().model(MODEL).input("Say hello to Ada").build()?;
    let whole = client.responses().create(request.clone()).await?.output_text().unwrap_or_default();
    let mut stream = client.responses().create_stream(request).await?;
    let (mut text, mut completed) = (String::new(), false);
    while let Some(event) = stream.next().await {
        match event? {
            ResponseStreamEvent::ResponseOutputTextDelta(piece) => text += &piece.delta,
            ResponseStreamEvent::ResponseCompleted(_) => completed = true,
            _ => {}
        }
    }
    Ok(json!([whole.contains("Ada"), text == whole, completed]))
}

async fn embeddings(client: &Client<OpenAIConfig>) -> Found {
    let request = CreateEmbeddingRequestArgs::default()
        .model("text-embedding-3-small")
        .input(["one", "two"])
        .build()?;
    let answer = client.embeddings().create(request).await?;
    Ok(json!([answer.data.len(), answer.data[0].embedding.len()]))
}

async fn models(client: &Client<OpenAIConfig>) -> Found {
    let list = client.models().list().await?;
    let one = client.models().retrieve("famA-4o-mini").await?;
    Ok(json!([list.data.len() > 50, one.id]))
}

async fn errors(client: &Client<OpenAIConfig>, base_url: &str) -> Found {
    let stranger = OpenAIConfig::new().with_api_base(base_url).with_api_key("sk-wrong");
    let wrong_key = Client::with_config(stranger).models().list().await.err();
    let unknown = client.models().retrieve("nobody").await.err();
    let broken = read(client, "one two three four [[fault:error=3]]").await.is_err();
    Ok(json!([code(wrong_key), code(unknown), broken]))
}

fn code(error: Option<OpenAIError>) -> Value {
    match error {
        Some(OpenAIError::ApiError(answer)) => json!(answer.status_code.as_u16()),
        other => json!(format!("{other:?}")),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let config = OpenAIConfig::new().with_api_base(&arguments[1]).with_api_key(&arguments[2]);
    let client = Client::with_config(config);
    let mut found = Map::new();
    let mut keep = |name: &str, value: Found| {
        found.insert(name.into(), value.unwrap_or_else(|error| json!(error.to_string())));
    };
    keep("chat", chat(&client).await);
    keep("stream", read(&client, "Say hello to Ada").await.map(|text| json!(text.contains("Ada"))));
    keep("tools", tools(&client).await);
    keep("responses", responses(&client).await);
    keep("embeddings", embeddings(&client).await);
    keep("models", models(&client).await);
    keep("errors", errors(&client, &arguments[1]).await);
    println!("{}", Value::Object(found));
}
