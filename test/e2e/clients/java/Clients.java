import com.fasterxml.jackson.databind.ObjectMapper;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.audio.speech.SpeechCreateParams;
import com.openai.models.audio.transcriptions.TranscriptionCreateParams;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.images.ImageGenerateParams;
import com.openai.models.responses.ResponseCreateParams;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** What OpenAI's own client for Java makes of the gateway: prints one JSON object of findings. */
class Clients {
  static final String MODEL = "famA-4o-mini";
  static final String HELLO = "Say hello to Ada";

  static final Map<String, Object> found = new LinkedHashMap<>();

  static void keep(String name, Callable<Object> row) {
    try {
      found.put(name, row.call());
    } catch (Exception error) {
      found.put(name, error.toString());
    }
  }

  static String raised(Runnable call) {
    try {
      call.run();
    } catch (RuntimeException error) {
      return error.getClass().getSimpleName();
    }
    return "nothing";
  }

  static ChatCompletionCreateParams.Builder ask(String content) {
    return ChatCompletionCreateParams.builder().model(MODEL).addUserMessage(content);
  }

  static OpenAIClient connect(String baseUrl, String key) {
    return OpenAIOkHttpClient.builder().baseUrl(baseUrl).apiKey(key).maxRetries(0).build();
  }

  static String read(OpenAIClient client, String content) {
    var whole = ChatCompletionAccumulator.create();
    try (var chunks = client.chat().completions().createStreaming(ask(content).build())) {
      chunks.stream().forEach(chunk -> whole.accumulate(chunk.validate()));
    }
    return whole.chatCompletion().choices().get(0).message().content().orElse("");
  }

  public static void main(String[] arguments) throws Exception {
    var client = connect(arguments[0], arguments[1]);
    var wav = Path.of(arguments[2]);

    keep("chat", () -> {
      var answer = client.chat().completions().create(ask(HELLO).build()).validate();
      return answer.choices().get(0).message().content().get().contains("Ada") && answer.usage().get().totalTokens() > 0;
    });
    keep("stream", () -> read(client, HELLO).contains("Ada"));
    keep("tools", () -> {
      var properties = JsonValue.from(Map.of("a", Map.of("type", "number")));
      var parameters = FunctionParameters.builder().putAdditionalProperty("type", JsonValue.from("object"))
          .putAdditionalProperty("properties", properties).build();
      var function = FunctionDefinition.builder().name("add_numbers").parameters(parameters).build();
      var request = ask("Use add_numbers for 5 and 7").addFunctionTool(function);
      var message = client.chat().completions().create(request.build()).validate().choices().get(0).message();
      var call = message.toolCalls().get().get(0).asFunction();
      var result = ChatCompletionToolMessageParam.builder().toolCallId(call.id()).content("twelve").build();
      var after = client.chat().completions().create(request.addMessage(message).addMessage(result).build()).validate();
      return List.of(call.function().name(), after.choices().get(0).message().content().get().contains("twelve"));
    });
    keep("responses", () -> {
      var request = ResponseCreateParams.builder().model(MODEL).input(HELLO).build();
      var answer = client.responses().create(request).validate();
      var whole = ResponseAccumulator.create();
      try (var events = client.responses().createStreaming(request)) {
        events.stream().forEach(event -> whole.accumulate(event.validate()));
      }
      var texts = new ArrayList<String>();
      for (var response : List.of(answer, whole.response())) {
        texts.add(response.output().get(0).asMessage().content().get(0).asOutputText().text());
      }
      return List.of(texts.get(0).contains("Ada"), texts.get(0).equals(texts.get(1)));
    });
    keep("embeddings", () -> {
      var request = EmbeddingCreateParams.builder().model("text-embedding-3-small").inputOfArrayOfStrings(List.of("one", "two"));
      var vectors = client.embeddings().create(request.build()).validate().data();
      return List.of(vectors.size(), vectors.get(0).embedding().size());
    });
    keep("image", () -> {
      var request = ImageGenerateParams.builder().model("famB-3-pro-image-preview").prompt("A kite")
          .responseFormat(ImageGenerateParams.ResponseFormat.B64_JSON);
      return client.images().generate(request.build()).validate().data().get().get(0).b64Json().get().startsWith("iVBOR");
    });
    keep("transcription", () -> {
      var request = TranscriptionCreateParams.builder().model("famW-large-v3").file(wav);
      return !client.audio().transcriptions().create(request.build()).validate().asTranscription().text().isEmpty();
    });
    keep("speech", () -> {
      var request = SpeechCreateParams.builder().model("famT/v1-english").input("Hello").voice("alloy");
      try (var answer = client.audio().speech().create(request.build())) {
        return new String(answer.body().readNBytes(4));
      }
    });
    keep("models", () -> {
      var count = client.models().list().data().size();
      return List.of(count > 50, client.models().retrieve("famA-4o-mini").validate().id());
    });
    keep("errors", () -> {
      var stranger = connect(arguments[0], "sk-wrong");
      var slow = ask("[[fault:status=429]]").build();
      return List.of(
          raised(() -> stranger.models().list()),
          raised(() -> client.chat().completions().create(slow)),
          raised(() -> client.models().retrieve("nobody")),
          raised(() -> read(client, "one two three four [[fault:error=3]]")));
    });
    System.out.println(new ObjectMapper().writeValueAsString(found));
    System.exit(0);
  }
}
